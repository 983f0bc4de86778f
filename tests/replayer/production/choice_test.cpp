// Pools whose way is chosen by measurement, and the memory that they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// The runtime's times and failures. What a run takes on the device, by the event behind it: the
// test knows which way that went.
struct Timed {
  std::map<void*, float> behind;
  void* last_event = nullptr;
  int (*record)(void*, void*) = nullptr;
  int (*launch_graph)(void*, void*) = nullptr;
  int failing_graphs = 0;
};
Timed device;

HipTable timed_table(const FakeHip& fake) {
  HipTable table = fake.table();
  device = {};
  device.record = table.hipEventRecord;
  device.launch_graph = table.hipGraphLaunch;
  table.hipEventRecord = [](void* event, void* stream) {
    device.last_event = event;
    device.behind.erase(event);
    return device.record(event, stream);
  };
  table.hipEventElapsedTime = [](float* milliseconds, void*, void* end) {
    const auto found = device.behind.find(end);
    if (found == device.behind.end()) return hip::kErrorNotReady;
    *milliseconds = found->second;
    return hip::kSuccess;
  };
  table.hipGraphLaunch = [](void* graph, void* stream) {
    return device.failing_graphs > 0 ? (--device.failing_graphs, 719)
                                     : device.launch_graph(graph, stream);
  };
  return table;
}

struct Told {
  std::vector<gfxgraph_fall_t> falls;
  static void fell(void* context, const gfxgraph_fall_t* fall) {
    static_cast<Told*>(context)->falls.push_back(*fall);
  }
};

class ChoiceTest : public ::testing::Test, public PoolOnFake {
 protected:
  // Milliseconds by way.
  using Times = std::map<uint32_t, float>;
  ChoiceTest() {
    options.choose = GFXGRAPH_CHOOSE_MEASURED;
    options.fell = &Told::fell;
    options.fell_context = &told;
    use(timed_table(fake));
  }
  // Right in whatever way; its times are known from now on.
  uint32_t measured_run(const Times& times) {
    const auto rows = static_cast<uint32_t>(1 + next_++ % kRows);
    EXPECT_EQ(run(Rows(rows, next_)), GFXGRAPH_OK) << gfxgraph_last_error();
    Rows wanted(rows, next_ * 2);
    wanted.push_back(kUntouched);
    EXPECT_EQ(got, wanted) << gfxgraph_way_name(result.way);
    const auto found = times.find(result.way);
    if (found != times.end()) device.behind[device.last_event] = found->second;
    return result.way;
  }
  // Until it is made; the ways of the runs before that.
  std::vector<uint32_t> run_until_chosen(const Times& times) {
    std::vector<uint32_t> ways;
    while (info().choice == GFXGRAPH_CHOICE_OPEN && ways.size() < 200)
      ways.push_back(measured_run(times));
    return ways;
  }

  Told told;

 private:
  uint32_t next_ = 0;
};

TEST_F(ChoiceTest, TheFastestWayIsTakenAndSaid) {
  ASSERT_EQ(create(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(info().choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_OPEN));
  const std::vector<uint32_t> ways =
      run_until_chosen({{GFXGRAPH_WAY_GRAPH, 5}, {GFXGRAPH_WAY_BATCH, 3}, {GFXGRAPH_WAY_EAGER, 1}});
  for (const uint32_t way : {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER})
    EXPECT_GE(std::ranges::count(ways, way), 10) << gfxgraph_way_name(way);
  expect_run({3, 4}, GFXGRAPH_WAY_EAGER);
  const gfxgraph_bucket_info_t found = info();
  EXPECT_EQ(found.choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_MADE));
  EXPECT_EQ(found.way, static_cast<uint32_t>(GFXGRAPH_WAY_EAGER));
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_GRAPH].end_to_end_us, 5000);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_BATCH].end_to_end_us, 3000);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_EAGER].end_to_end_us, 1000);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_EAGER].runs, 9u);
  EXPECT_GT(found.figures[GFXGRAPH_WAY_EAGER].submit_us, 0);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_PACKETS].runs, 0u);
  EXPECT_EQ(found.end_to_end.count, 0u) << "times that no run asked for";
  EXPECT_THAT(found.falls, Each(0u));
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("5000.0 us end to end"));
  EXPECT_THAT(reason(GFXGRAPH_WAY_BATCH), HasSubstr("eager is kept"));
  EXPECT_NE(reason(GFXGRAPH_WAY_PACKETS), "") << "why there are none";
  std::string metrics(20000, '\0');
  ASSERT_EQ(gfxgraph_pool_metrics(&pool, 1, metrics.data(), metrics.size(), nullptr), GFXGRAPH_OK);
  EXPECT_THAT(metrics, HasSubstr("gfxgraph_pool_measured_end_to_end_seconds{pool=\"pool\","
                                 "bucket=\"8\",way=\"batch\"} 0.003000000\n"));
  EXPECT_THAT(metrics, HasSubstr("bucket=\"8\",way=\"eager\"} 1\n"));
  ASSERT_EQ(told.falls.size(), 3u);
  EXPECT_EQ(told.falls[0].way, static_cast<uint32_t>(GFXGRAPH_WAY_PACKETS));
  EXPECT_EQ(told.falls[0].fall, static_cast<uint32_t>(GFXGRAPH_FALL_PREPARE));
  EXPECT_EQ(told.falls[1].fall, static_cast<uint32_t>(GFXGRAPH_FALL_MEASURED));
  EXPECT_EQ(told.falls[1].next_way, static_cast<uint32_t>(GFXGRAPH_WAY_EAGER));
}

TEST_F(ChoiceTest, AGraphIsKeptWhereNothingIsClearlyFaster) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  (void)run_until_chosen(
      {{GFXGRAPH_WAY_GRAPH, 5}, {GFXGRAPH_WAY_BATCH, 5}, {GFXGRAPH_WAY_EAGER, 6}});
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
  EXPECT_THAT(reason(GFXGRAPH_WAY_EAGER), HasSubstr("graph is kept, no other is faster"));
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "");
}

// Runs whose times are not known yet are not waited for: the others go the first way.
TEST_F(ChoiceTest, NothingWaitsForTimes) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  for (int i = 0; i < 40; ++i) (void)measured_run({});
  EXPECT_EQ(info().choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_OPEN));
  EXPECT_EQ(measured_run({}), static_cast<uint32_t>(GFXGRAPH_WAY_GRAPH));
  EXPECT_EQ(info().runs[GFXGRAPH_WAY_GRAPH], 41u - 1 - 2) << "all but the capture and one of each";
  EXPECT_EQ(info().untimed, 0u);
}

TEST_F(ChoiceTest, AWayThatFailsIsNoCandidateAnyMore) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  (void)measured_run({});
  device.failing_graphs = 1;
  EXPECT_EQ(measured_run({{GFXGRAPH_WAY_BATCH, 2}}), static_cast<uint32_t>(GFXGRAPH_WAY_BATCH));
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("hipGraphLaunch"));
  const std::vector<uint32_t> ways =
      run_until_chosen({{GFXGRAPH_WAY_BATCH, 2}, {GFXGRAPH_WAY_EAGER, 3}});
  EXPECT_EQ(std::ranges::count(ways, static_cast<uint32_t>(GFXGRAPH_WAY_GRAPH)), 0);
  expect_run({1}, GFXGRAPH_WAY_BATCH);
}

// What lost is there still when the chosen way fails.
TEST_F(ChoiceTest, TheChosenWayFallsToTheOthers) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  (void)run_until_chosen(
      {{GFXGRAPH_WAY_GRAPH, 1}, {GFXGRAPH_WAY_BATCH, 3}, {GFXGRAPH_WAY_EAGER, 5}});
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
  device.failing_graphs = 1;
  expect_run({2}, GFXGRAPH_WAY_BATCH, GFXGRAPH_FALL_RUN);
  EXPECT_EQ(info().falls[GFXGRAPH_FALL_RUN], 1u);
}

TEST_F(ChoiceTest, WhatIsCapturedAgainIsMeasuredAgain) {
  ASSERT_EQ(create(), GFXGRAPH_OK);
  (void)run_until_chosen(
      {{GFXGRAPH_WAY_GRAPH, 5}, {GFXGRAPH_WAY_BATCH, 1}, {GFXGRAPH_WAY_EAGER, 5}});
  expect_run({1}, GFXGRAPH_WAY_BATCH);
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
  EXPECT_EQ(info().choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_OPEN));
  EXPECT_EQ(info().figures[GFXGRAPH_WAY_BATCH].runs, 0u);
  (void)run_until_chosen(
      {{GFXGRAPH_WAY_GRAPH, 1}, {GFXGRAPH_WAY_BATCH, 5}, {GFXGRAPH_WAY_EAGER, 5}});
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
}

TEST_F(ChoiceTest, AWarmUpMeasuresWhereItIsTo) {
  HipTable table = fake.table();
  table.hipEventElapsedTime = nullptr;
  use(table);
  options.warm_measures = 1;
  options.measure_runs = 5;
  options.measure_ways = 1u << GFXGRAPH_WAY_GRAPH | 1u << GFXGRAPH_WAY_EAGER;
  ASSERT_EQ(create(), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_OK) << gfxgraph_last_error();
  const gfxgraph_bucket_info_t found = info();
  EXPECT_EQ(found.choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_MADE));
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_GRAPH].runs, 5u);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_EAGER].runs, 5u);
  EXPECT_GE(found.figures[GFXGRAPH_WAY_EAGER].end_to_end_us,
            found.figures[GFXGRAPH_WAY_EAGER].submit_us);
  EXPECT_EQ(found.figures[GFXGRAPH_WAY_BATCH].runs, 0u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(run({2}), GFXGRAPH_OK);
  EXPECT_EQ(got[0], 4u);
}

// Eager waits for its work, so its submits are no match for those of the others.
TEST_F(ChoiceTest, WithoutEventsOnlySubmitsAreMeasured) {
  HipTable table = fake.table();
  table.hipEventElapsedTime = nullptr;
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  const std::vector<uint32_t> ways = run_until_chosen({});
  EXPECT_EQ(std::ranges::count(ways, static_cast<uint32_t>(GFXGRAPH_WAY_EAGER)), 0);
  EXPECT_EQ(info().choice, static_cast<uint32_t>(GFXGRAPH_CHOICE_MADE));
  EXPECT_GT(info().figures[GFXGRAPH_WAY_BATCH].submit_us, 0);
  EXPECT_EQ(info().figures[GFXGRAPH_WAY_BATCH].end_to_end_us, 0);
  EXPECT_THAT(reason(GFXGRAPH_WAY_EAGER), HasSubstr("not measured"));
}

TEST_F(ChoiceTest, NothingLeaksWhereAnythingFails) {
  uint32_t cache = 7;
  const gfxgraph_state_t state = {"cache", &cache, sizeof cache, GFXGRAPH_TYPE_BYTES, 0};
  options.states = &state;
  options.state_count = 1;
  options.warm_measures = 1;
  options.measure_runs = 3;
  for (int n = 1;; ++n) {
    const size_t before = fake.alive();
    fake.fail_call(n);
    gfxgraph_status_t status = create();
    if (status == GFXGRAPH_OK) status = gfxgraph_pool_warm(pool, nullptr);
    if (status == GFXGRAPH_OK) status = run({1, 2});
    const bool failed = std::exchange(fake.failed, false);
    fake.fail_call(0);
    if (pool != nullptr) {
      EXPECT_EQ(run({5}), GFXGRAPH_OK) << "call " << n << ": " << gfxgraph_last_error();
      EXPECT_EQ(got[0], 10u) << "call " << n;
    }
    destroy();
    EXPECT_EQ(fake.alive(), before) << "call " << n;
    if (!failed) break;
    ASSERT_LT(n, 1000);
  }
}

TEST_F(ChoiceTest, WrongOptionsAreRefusedByName) {
  const auto right = options;
  const auto refused = [&](auto member, auto value, const char* word) {
    options.*member = value;
    gfxgraph_pool_t none = nullptr;
    EXPECT_EQ(gfxgraph_pool_create(&options, &none), GFXGRAPH_INVALID_ARGUMENT) << word;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(word));
    options = right;
  };
  using Options = gfxgraph_pool_options_t;
  refused(&Options::choose, 2u, "unknown choose");
  refused(&Options::first_way, static_cast<uint32_t>(GFXGRAPH_WAY_BATCH), "measure_ways");
  refused(&Options::first_way, static_cast<uint32_t>(GFXGRAPH_WAY_CAPTURE), "first_way");
  refused(&Options::measure_ways, 1u << GFXGRAPH_WAY_WORK, "measure_ways");
  refused(&Options::measure_runs, 2u, "measure_runs");
  refused(&Options::measure_runs, 1001u, "measure_runs");
  refused(&Options::warm_measures, 2u, "warm_measures");
  options.choose = GFXGRAPH_CHOOSE_FIRST;
  refused(&Options::measure_runs, 9u, "without GFXGRAPH_CHOOSE_MEASURED");
}

// ---- memory

class RoomTest : public ::testing::Test, public PoolOnFake {};

size_t free_bytes = 0;

TEST_F(RoomTest, AShareOfTheDeviceIsACap) {
  HipTable table = fake.table();
  table.hipMemGetInfo = [](size_t* free, size_t* total) {
    *free = free_bytes;
    *total = 1000;
    return 0;
  };
  use(table);
  options.max_device_share = 0.8;
  free_bytes = 263;  // the bucket needs 64
  ASSERT_EQ(create(), GFXGRAPH_OK) << gfxgraph_last_error();
  expect_run({1, 2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_CAP);
  EXPECT_THAT(
      reason(GFXGRAPH_WAY_GRAPH),
      HasSubstr("the device has 737 of 1000 bytes in use, 800 at most by max_device_share"));
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
  free_bytes = 264;
  expect_run({1, 2}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1, 2}, GFXGRAPH_WAY_GRAPH);
  destroy();
  options.max_device_share = 1.01;
  EXPECT_EQ(create(), GFXGRAPH_INVALID_ARGUMENT);
  options.max_device_share = 0.5;
  table.hipMemGetInfo = nullptr;
  use(table);
  EXPECT_EQ(create(), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("hipMemGetInfo"));
}

// A capture of another thread in global mode: HIP refuses allocations of threads that are not
// relaxed.
int thread_mode = 0;
decltype(HipTable::hipMalloc) allocate_on_fake = nullptr;
int captured_malloc(void** pointer, size_t size) {
  return thread_mode == hip::kCaptureRelaxed ? allocate_on_fake(pointer, size) : 900;
}

TEST_F(RoomTest, AllocationsAreRelaxedBesideCapturesOfOthers) {
  HipTable table = fake.table();
  allocate_on_fake = table.hipMalloc;
  table.hipMalloc = captured_malloc;
  table.hipThreadExchangeStreamCaptureMode = [](int* mode) {
    std::swap(*mode, thread_mode);
    return 0;
  };
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  expect_run({1, 2}, GFXGRAPH_WAY_CAPTURE);
  EXPECT_EQ(thread_mode, 0) << "the thread has its mode again";
  expect_run({1, 2}, GFXGRAPH_WAY_GRAPH);
}

TEST_F(RoomTest, WhatACaptureOfOthersRefusedIsTriedAgain) {
  HipTable table = fake.table();
  allocate_on_fake = table.hipMalloc;
  table.hipMalloc = captured_malloc;
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_NOT_READY);
  expect_run({1, 2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_ALLOCATION);
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("hipMalloc"));
  EXPECT_EQ(info().way, static_cast<uint32_t>(GFXGRAPH_WAY_CAPTURE));
  thread_mode = hip::kCaptureRelaxed;  // it has ended
  expect_run({1, 2}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1, 2}, GFXGRAPH_WAY_GRAPH);
  thread_mode = 0;
  EXPECT_EQ(reason(GFXGRAPH_WAY_GRAPH), "");
}

TEST_F(RoomTest, AWarmUpLeavesTheStatesOrDoesNothing) {
  static uint32_t cache = 7;
  const gfxgraph_state_t state = {"cache", &cache, sizeof cache, GFXGRAPH_TYPE_BYTES, 0};
  options.states = &state;
  options.state_count = 1;
  options.work = [](void* context, const gfxgraph_call_t* call) {
    ++cache;
    return static_cast<PoolOnFake*>(static_cast<RoomTest*>(context))->work(*call);
  };
  options.work_context = this;
  HipTable table = fake.table();
  allocate_on_fake = table.hipMalloc;
  table.hipMalloc = [](void** pointer, size_t size) {
    return size == sizeof cache ? hip::kErrorOutOfMemory : allocate_on_fake(pointer, size);
  };
  use(table);
  ASSERT_EQ(create(), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_OUT_OF_MEMORY);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("a copy of cache, 4 bytes"));
  EXPECT_EQ(calls, 0);
  destroy();
  use(fake.table());
  options.max_device_bytes = 64;
  ASSERT_EQ(create(), GFXGRAPH_OK);
  cache = 7;
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache, 7u);
  EXPECT_EQ(info().device_bytes, 64u);
  fails = -3;
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), -3);
  EXPECT_EQ(cache, 7u) << "also where the function fails";
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
