// Pools when parts of HIP or of the capture fail: which way runs go then, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// How often a call of a table is to fail.
int failing_graph_launches = 0;
int failing_launches = 0;
int (*real_graph_launch)(void*, void*) = nullptr;
decltype(HipTable::hipModuleLaunchKernel) real_launch = nullptr;

class PoolTest : public ::testing::Test, public PoolOnFake {
 protected:
  PoolTest() { failing_graph_launches = failing_launches = 0; }

  HipTable failing_table() {
    HipTable table = fake.table();
    real_graph_launch = table.hipGraphLaunch;
    real_launch = table.hipModuleLaunchKernel;
    table.hipGraphLaunch = [](void* graph, void* stream) {
      return failing_graph_launches > 0 ? (--failing_graph_launches, 719)
                                        : real_graph_launch(graph, stream);
    };
    table.hipModuleLaunchKernel = [](void* function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     void* stream, void** parameters, void** extra) {
      return failing_launches > 0
                 ? (--failing_launches, 719)
                 : real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    };
    return table;
  }
};

TEST_F(PoolTest, TheFirstRunIsCapturedAndTheOthersAreTheStep) {
  ASSERT_EQ(create(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(info().way, static_cast<uint32_t>(GFXGRAPH_WAY_CAPTURE));
  expect_run({9, 9, 9, 9, 9, 9, 9, 9}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1, 2, 3}, GFXGRAPH_WAY_GRAPH);
  expect_run({4}, GFXGRAPH_WAY_GRAPH);
  EXPECT_EQ(calls, 1);
  // What the longer runs left is zero again.
  const auto* const input = static_cast<const uint32_t*>(live->places[in].device);
  EXPECT_THAT(Rows(input, input + kRows), ElementsAre(4, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(info().rows, 12u);
  EXPECT_EQ(info().padded_rows, 5u + 7u);
  EXPECT_EQ(info().padded_bytes, 12u * 8u);
  EXPECT_EQ(info().device_bytes, 64u);
  const size_t before = fake.alive();
  destroy();
  EXPECT_LT(fake.alive(), before);
}

TEST_F(PoolTest, AWarmPoolIsCapturedOverZeros) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  answers.fails = "begin";
  answers.status = Status::kNotReady;
  expect_run({5, 5}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAPTURE);
  answers.fails.clear();
  ASSERT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(padding, Each(0u));
  EXPECT_EQ(info().captures, 1u);
  expect_run({7}, GFXGRAPH_WAY_GRAPH);
}

TEST_F(PoolTest, NothingLeaksWhereAnythingFails) {
  for (int n = 1;; ++n) {
    const size_t before = fake.alive();
    fake.fail_call(n);
    gfxgraph_status_t status = create();
    if (status == GFXGRAPH_OK) status = run({1, 2});
    if (status == GFXGRAPH_OK) status = run({3});
    if (status == GFXGRAPH_OK && result.way != GFXGRAPH_WAY_GRAPH) {
      EXPECT_FALSE(reason(GFXGRAPH_WAY_GRAPH).empty()) << "call " << n << ": a silent fall";
    }
    const bool failed = std::exchange(fake.failed, false);
    fake.fail_call(0);
    destroy();
    EXPECT_EQ(fake.alive(), before) << "call " << n;
    if (!failed) break;
    ASSERT_LT(n, 1000);
  }
}

TEST_F(PoolTest, WithoutGraphsItIsABatch) {
  HipTable table = fake.table();
  table.hipGraphInstantiate = nullptr;
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2, 3}, GFXGRAPH_WAY_BATCH, GFXGRAPH_FALL_PREPARE);
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("graph"));
  EXPECT_EQ(reason(GFXGRAPH_WAY_BATCH), "");
  EXPECT_EQ(info().falls[GFXGRAPH_FALL_PREPARE], 1u);
}

// One graph launch submits all or nothing: the run itself goes on as a batch. A batch that failed
// in the middle may have submitted something: the next run goes on call by call.
TEST_F(PoolTest, AFailedRunIsNotDoneTwice) {
  use(failing_table());
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2}, GFXGRAPH_WAY_GRAPH);
  failing_graph_launches = 1;
  expect_run({3}, GFXGRAPH_WAY_BATCH, GFXGRAPH_FALL_RUN);
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("hipGraphLaunch"));
  failing_launches = 1;
  EXPECT_EQ(run({4}), GFXGRAPH_DEVICE);
  EXPECT_EQ(result.way, static_cast<uint32_t>(GFXGRAPH_WAY_BATCH));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(info().failures, 1u);
  expect_run({5}, GFXGRAPH_WAY_EAGER, GFXGRAPH_FALL_RUN);
  failing_launches = 1;
  EXPECT_EQ(run({6}), GFXGRAPH_DEVICE);
  expect_run({7}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_RUN);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(info().falls[GFXGRAPH_FALL_RUN], 3u);
}

TEST_F(PoolTest, MemoryThatIsGoneMakesTheStepRefuseInAllWays) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
  const auto place = live->places[in];
  live->free(in);
  expect_run({2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_RUN);
  for (const uint32_t way : {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER})
    EXPECT_THAT(reason(way), HasSubstr("allocation")) << way;
  live->places[in] = place;
  live->gone.allocation = 0;
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "");
  expect_run({3}, GFXGRAPH_WAY_CAPTURE);
  expect_run({4}, GFXGRAPH_WAY_GRAPH);
  EXPECT_EQ(info().device_bytes, 64u);
}

TEST_F(PoolTest, WorkWhoseCaptureFailsIsDoneOnce) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  answers.fails = "end";
  expect_run({1}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAPTURE);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "end fails");
  answers.fails.clear();
  expect_run({2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAPTURE);  // it is not tried again
  EXPECT_EQ(info().captures, 0u);
  EXPECT_EQ(info().falls[GFXGRAPH_FALL_CAPTURE], 2u);
}

TEST_F(PoolTest, ACaptureOfAnotherThreadIsWaitedForAgain) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  answers.fails = "begin";
  answers.status = Status::kNotReady;
  expect_run({1}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAPTURE);
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "begin fails");
  EXPECT_EQ(info().way, static_cast<uint32_t>(GFXGRAPH_WAY_CAPTURE));
  answers.fails.clear();
  expect_run({2}, GFXGRAPH_WAY_CAPTURE);
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "");
}

TEST_F(PoolTest, AStatusOfTheFunctionIsReturnedAsItIs) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  fails = 1234567;
  EXPECT_EQ(run({1}), 1234567);
  EXPECT_EQ(result.work_status, 1234567);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("1234567"));
  EXPECT_EQ(answers.open, 0u) << "the capture is given up";
  fails = -1;
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), -1);
  fails = 0;
  expect_run({2}, GFXGRAPH_WAY_CAPTURE);
  expect_run({3}, GFXGRAPH_WAY_GRAPH);
  EXPECT_EQ(info().work_failures, 2u);
  EXPECT_EQ(info().failures, 0u);
}

TEST_F(PoolTest, ADeviceWithoutMemoryLeavesTheFunction) {
  HipTable table = fake.table();
  table.hipMalloc = [](void**, size_t) { return hip::kErrorOutOfMemory; };
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1, 2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_ALLOCATION);
  EXPECT_EQ(padding.size(), 2u) << "over the caller's rows";
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("32 bytes for in: hipMalloc"));
  EXPECT_EQ(info().device_bytes, 0u);
}

TEST_F(PoolTest, TheFunctionAloneFallsForWantOfRoomToo) {
  options.first_way = GFXGRAPH_WAY_WORK;
  options.max_device_bytes = 63;
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1, 2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAP);
  EXPECT_THAT(reason(GFXGRAPH_WAY_WORK), HasSubstr("needs 64 bytes"));
  destroy();
  options.max_device_bytes = 64;
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1, 2}, GFXGRAPH_WAY_WORK);
  EXPECT_EQ(padding.size(), kRows) << "over the pool's padded buffers";
}

TEST_F(PoolTest, ABusyStreamIsWaitedForOnTheDevice) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  auto* const one = reinterpret_cast<hip::Stream>(uintptr_t{0x10});
  auto* const other = reinterpret_cast<hip::Stream>(uintptr_t{0x20});
  ASSERT_EQ(run({1}, false, one), GFXGRAPH_OK);
  fake.log.clear();
  ASSERT_EQ(run({2}, false, other), GFXGRAPH_OK);
  EXPECT_THAT(fake.log, ::testing::Not(::testing::Contains("wait")));
  fake.busy.insert(other);
  fake.log.clear();
  ASSERT_EQ(run({3}, false, other), GFXGRAPH_OK);
  EXPECT_THAT(fake.log, ::testing::Not(::testing::Contains("wait")));
  ASSERT_EQ(run({4}, false, one), GFXGRAPH_OK);
  EXPECT_THAT(fake.log, ::testing::IsSupersetOf({"record", "wait"}));
  fake.busy.clear();
}

TEST_F(PoolTest, TimesAreCountedWhenTheRunHasEnded) {
  static hip::Error answer = hip::kErrorNotReady;
  answer = hip::kErrorNotReady;
  HipTable table = fake.table();
  table.hipEventElapsedTime = [](float* milliseconds, void*, void*) {
    *milliseconds = 2.5F;
    return answer;
  };
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  for (uint32_t i = 0; i < 6; ++i) ASSERT_EQ(run({i}, true), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(info().end_to_end.count, 0u);
  EXPECT_EQ(info().untimed, 2u);
  answer = hip::kSuccess;
  const gfxgraph_bucket_info_t found = info();
  EXPECT_EQ(found.end_to_end.count, 4u);
  EXPECT_EQ(found.end_to_end.max_us, 2500);
  EXPECT_EQ(found.end_to_end.p50_us, 2500);
  EXPECT_EQ(found.end_to_end.sum_us, 10000);
  EXPECT_EQ(found.submit.count, 6u);
}

TEST_F(PoolTest, ARuntimeThatMeasuresNothingSaysSo) {
  HipTable table = fake.table();
  table.hipEventElapsedTime = nullptr;
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  EXPECT_EQ(run({1}, true), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("hipEventElapsedTime"));
  EXPECT_EQ(calls, 0);
}

TEST_F(PoolTest, TheHotPathAllocatesNothing) {
  for (const uint32_t way : {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH}) {
    // The fake runtime allocates; empty calls show what the library does.
    HipTable table = fake.table();
    table.hipModuleLaunchKernel = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, void*, void**, void**) { return 0; };
    table.hipGraphLaunch = [](void*, void*) { return 0; };
    table.hipMemcpyAsync = [](void*, const void*, size_t, int, void*) { return 0; };
    table.hipMemsetAsync = [](void*, int, size_t, void*) { return 0; };
    table.hipEventRecord = [](void*, void*) { return 0; };
    table.hipEventElapsedTime = [](float*, void*, void*) { return 0; };
    use(table);
    options.first_way = way;
    ASSERT_EQ(create(), GFXGRAPH_OK);
    ASSERT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_OK);
    ASSERT_EQ(run({1, 2, 3}, true), GFXGRAPH_OK) << gfxgraph_last_error();
    std::array<void*, 2> memory = {given.data(), got.data()};
    gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
    one.size = 3;
    one.memory = memory.data();
    one.timed = 1;
    gfxgraph_status_t status = GFXGRAPH_OK;
    gfxgraph::testing::start_counting_allocations(gfxgraph::testing::OfThreads::kAll);
    for (int i = 0; i < 100; ++i) status |= gfxgraph_pool_run(pool, &one, &result);
    EXPECT_EQ(gfxgraph::testing::stop_counting_allocations(), 0u) << way;
    EXPECT_EQ(status, GFXGRAPH_OK);
    EXPECT_EQ(info().runs[way], 101u);
    destroy();
  }
}

TEST_F(PoolTest, EightThreadsRunItWhileOneReads) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  constexpr int kRuns = 50;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (uint32_t thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        fake.use_on_this_thread();
        for (uint32_t i = 0; i < kRuns; ++i) {
          Rows from(1 + (thread + i) % kRows, thread * 1000 + i), to(from.size());
          std::array<void*, 2> memory = {from.data(), to.data()};
          gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
          one.size = from.size();
          one.memory = memory.data();
          if (gfxgraph_pool_run(pool, &one, nullptr) != GFXGRAPH_OK) ++wrong;
          for (const uint32_t row : to) wrong += row == 2 * from[0] ? 0 : 1;
        }
      });
    }
    std::jthread reader([&] {
      fake.use_on_this_thread();
      while (!done) {
        const gfxgraph_bucket_info_t found = info();
        EXPECT_LE(found.captures, 1u);
        EXPECT_LE(found.submit.count, 8u * kRuns);
        (void)reason(GFXGRAPH_WAY_GRAPH);
      }
    });
    for (std::jthread& one : threads) one.join();
    done = true;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(info().runs[GFXGRAPH_WAY_GRAPH], 8u * kRuns - 1);
  EXPECT_EQ(info().runs[GFXGRAPH_WAY_CAPTURE], 1u);
  EXPECT_EQ(info().submit.count, 8u * kRuns);
}

std::string metrics_of(const std::vector<gfxgraph_pool_t>& pools) {
  const auto count = static_cast<uint32_t>(pools.size());
  uint64_t size = 0;
  EXPECT_EQ(gfxgraph_pool_metrics(pools.data(), count, nullptr, 0, &size),
            GFXGRAPH_INVALID_ARGUMENT);
  std::string text(size, '\0');
  EXPECT_EQ(gfxgraph_pool_metrics(pools.data(), count, text.data(), size, &size),
            GFXGRAPH_INVALID_ARGUMENT)
      << "without room for the zero";
  EXPECT_EQ(text, std::string(size, '\0'));
  EXPECT_EQ(gfxgraph_pool_metrics(pools.data(), count, text.data(), size + 1, &size), GFXGRAPH_OK);
  return text;
}

TEST_F(PoolTest, MetricsAreAnOpenMetricsText) {
  options.name = "a\"b\\c\nd";
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
  const std::string text = metrics_of({pool});
  const std::string labels = R"({pool="a\"b\\c\nd",bucket="8")";
  EXPECT_THAT(text, HasSubstr("# TYPE gfxgraph_pool_runs counter\n"
                              "# HELP gfxgraph_pool_runs Runs that succeeded, by the way that "
                              "they went.\n"
                              "gfxgraph_pool_runs_total" +
                              labels + ",way=\"graph\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_runs_total" + labels + ",way=\"capture\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE gfxgraph_pool_padded_bytes counter\n"
                              "# UNIT gfxgraph_pool_padded_bytes bytes\n"));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_padded_bytes_total" + labels + "} 112\n"));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_device_bytes" + labels + "} 64\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE gfxgraph_pool_submit_seconds summary\n"
                              "# UNIT gfxgraph_pool_submit_seconds seconds\n"));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_submit_seconds" + labels + ",quantile=\"0.99\"} 0."));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_submit_seconds_count" + labels + "} 2\n"));
  EXPECT_THAT(text, HasSubstr("gfxgraph_pool_end_to_end_seconds_sum" + labels + "} 0.000000000\n"));
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  // Each family is there once, also of several pools.
  gfxgraph_pool_t second = nullptr;
  options.name = "second";
  ASSERT_EQ(gfxgraph_pool_create(&options, &second), GFXGRAPH_OK);
  const std::string both = metrics_of({pool, second});
  EXPECT_EQ(both.find("# TYPE gfxgraph_pool_runs "), both.rfind("# TYPE gfxgraph_pool_runs "));
  EXPECT_THAT(both, HasSubstr("gfxgraph_pool_captures_total{pool=\"second\",bucket=\"8\"} 0\n"));
  const std::array<gfxgraph_pool_t, 2> same = {second, second};
  EXPECT_EQ(gfxgraph_pool_metrics(same.data(), 2, nullptr, 0, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("both called second"));
  gfxgraph_pool_destroy(second);
}

TEST_F(PoolTest, WrongArgumentsAreRefusedByName) {
  const auto refused = [&](const char* word) {
    gfxgraph_pool_t none = nullptr;
    EXPECT_EQ(gfxgraph_pool_create(&options, &none), GFXGRAPH_INVALID_ARGUMENT) << word;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(word));
    EXPECT_EQ(none, nullptr);
  };
  const auto right = options;
  const auto with = [&](auto member, auto value, const char* word) {
    options.*member = value;
    refused(word);
    options = right;
  };
  using Options = gfxgraph_pool_options_t;
  with(&Options::struct_size, 0u, "struct_size");
  with(&Options::work, nullptr, "work is null");
  with(&Options::first_way, 9u, "first_way");
  with(&Options::beyond, 2u, "beyond");
  with(&Options::state_count, 1u, "states is null");
  options.tolerance[GFXGRAPH_TYPE_F32] = -1;
  refused("negative");
  options = right;
  options.tolerance[GFXGRAPH_TYPE_BYTES] = 0.5;
  refused("of bytes");
  options = right;
  gfxgraph_state_t state = {nullptr, this, 6, GFXGRAPH_TYPE_F32, 0};
  options.states = &state;
  options.state_count = 1;
  refused("state 0 of the pool: type is unknown, or bytes");
  state.memory = nullptr;
  refused("state 0 of the pool: memory is null");
  options = right;
  with(&Options::size_count, 0u, "sizes");
  with(&Options::tensor_count, 0u, "tensors");
  EXPECT_EQ(gfxgraph_pool_create(nullptr, &pool), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_pool_create(&options, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_pool_run(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_pool_warm(nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_pool_run(pool, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_pool_recapture(pool, 1), GFXGRAPH_NOT_FOUND);
  EXPECT_EQ(gfxgraph_pool_reason(pool, 0, 9, nullptr, 0, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(run({}), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(run(Rows(9, 1)), GFXGRAPH_NOT_FOUND);
  answers.capturing = true;
  EXPECT_EQ(run({1}), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("capture open"));
  answers.capturing = false;
  EXPECT_EQ(calls, 0);
  EXPECT_STREQ(gfxgraph_way_name(99), "unknown");
  EXPECT_STREQ(gfxgraph_fall_name(GFXGRAPH_FALL_CAP), "cap");
  gfxgraph_pool_destroy(nullptr);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
