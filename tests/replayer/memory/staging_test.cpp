// Copies from and to plain host memory that do not fit in the memory for them: they go through a
// ring, whose parts are used again only when the copies that had them are done.
#include "replayer/memory/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "replay_fixture.h"
#include "replayer/memory/limits.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMost = 16 << 10;

// The fake HIP, but copies run when something waits for them, and not before.
class LateCopies {
 public:
  explicit LateCopies(FakeHip& fake) {
    original = fake.table();
    HipTable table = original;
    table.hipMemcpyAsync = [](void* to, const void* from, size_t size, int kind, void* stream) {
      pending.push_back([=] { original.hipMemcpyAsync(to, from, size, kind, stream); });
      return hip::kSuccess;
    };
    table.hipMemcpy2DAsync = [](void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                size_t width, size_t height, int kind, void* stream) {
      pending.push_back([=] {
        original.hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
      });
      return hip::kSuccess;
    };
    table.hipMemcpy3DAsync = [](const hip::Memcpy3dParams* parameters, void* stream) {
      pending.push_back([copy = *parameters, stream] { original.hipMemcpy3DAsync(&copy, stream); });
      return hip::kSuccess;
    };
    table.hipModuleLaunchKernel = [](void* function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                     void* stream, void** parameters, void** extra) {
      run_until(nullptr);
      return original.hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, stream,
                                            parameters, extra);
    };
    table.hipGraphLaunch = [](void* graph, void* stream) {
      run_until(nullptr);
      return original.hipGraphLaunch(graph, stream);
    };
    table.hipEventRecord = [](void* event, void*) {
      ++serial;
      last_record[event] = serial;
      pending.push_back([done = serial] { reached = done; });
      return hip::kSuccess;
    };
    table.hipEventSynchronize = [](void* event) {
      if (last_record[event] > reached) ++waits;
      while (last_record[event] > reached) run_one();
      return hip::kSuccess;
    };
    table.hipStreamSynchronize = [](void* stream) {
      run_until(nullptr);
      return original.hipStreamSynchronize(stream);
    };
    table.hipDeviceSynchronize = [] {
      run_until(nullptr);
      return original.hipDeviceSynchronize();
    };
    pending.clear();
    last_record.clear();
    serial = reached = waits = most_pending = 0;
    library = *HipLibrary::from_table(table, "late");
  }
  ~LateCopies() { run_until(nullptr); }

  static void run_one() {
    most_pending = std::max(most_pending, pending.size());
    const std::function<void()> next = std::move(pending.front());
    pending.pop_front();
    next();
  }
  static void run_until(std::nullptr_t) {
    while (!pending.empty()) run_one();
  }

  std::shared_ptr<const HipLibrary> library;
  static inline HipTable original;
  static inline std::deque<std::function<void()>> pending;
  static inline std::map<void*, size_t> last_record;
  static inline size_t serial = 0, reached = 0, waits = 0, most_pending = 0;
};

class Staging : public ReplayTest, public ::testing::WithParamInterface<Mode> {
 protected:
  LoadOptions options() const {
    LoadOptions options;
    options.mode = GetParam();
    options.staging_bytes = kMost;
    return options;
  }
  std::unique_ptr<Step> load_late() {
    auto step = Step::load(program, late.library, options());
    EXPECT_TRUE(step) << (step ? "" : step.error().message);
    return step ? std::move(*step) : nullptr;
  }
  // Different in each.
  std::vector<uint8_t> some_bytes(size_t size) {
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(next_byte_ = next_byte_ * 5 + 77);
    return bytes;
  }
  // Its bytes to the device and back, with a kernel between.
  format::AllocationId there_and_back(size_t size) {
    const auto id = trace.allocate(size);
    trace.copy_to_device(id, some_bytes(size), 0, true);
    launch_double(id);
    trace.copy_to_host(id);
    return id;
  }
  void runs_as_recorded(Step& step) {
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(step.restore());
      ASSERT_NO_FATAL_FAILURE(expect_identical(step));
    }
  }

  LateCopies late{fake};
  std::shared_ptr<const Program> program;
  uint32_t next_byte_ = 1;
};

TEST_P(Staging, CopiesManyTimesLargerThanTheRing) {
  std::vector<format::AllocationId> buffers;
  for (const size_t size : {24, 100, 3000, 5000, 40000, 24, 2048, 2049}) {
    buffers.push_back(trace.allocate(size));
    trace.copy_to_device(buffers.back(), some_bytes(size), 0, true);
  }
  for (int i = 0; i < 100; ++i) {
    buffers.push_back(trace.allocate(3000));
    trace.copy_to_device(buffers.back(), some_bytes(3000), 0, true);
  }
  for (const auto id : buffers) launch_double(id);
  for (const auto id : buffers) trace.copy_to_host(id);
  program = trace.program();
  const auto plan = plan_staging(*program, kMost);
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->pinned_bytes(), kMost);
  EXPECT_EQ(plan->received_bytes, 40192u + 5120 + 2304 + 101 * 3072u);
  const auto step = load_late();
  ASSERT_TRUE(step);
  runs_as_recorded(*step);
  EXPECT_GT(LateCopies::waits, 100u);
  EXPECT_GT(LateCopies::most_pending, 3u) << "waits more than it must";
}

// What is pinned in all, whatever is copied.
TEST_P(Staging, TakesNoMorePinnedMemoryThanAllowed) {
  static uint64_t pinned = 0;
  pinned = 0;
  static HipTable original;
  original = fake.table();
  HipTable table = original;
  table.hipHostMalloc = [](void** pointer, size_t bytes, unsigned flags) {
    pinned += bytes;
    return original.hipHostMalloc(pointer, bytes, flags);
  };
  for (int i = 0; i < 60; ++i) there_and_back(1000 + 100 * i);
  program = trace.program();
  auto step = Step::load(program, *HipLibrary::from_table(table, "counted"), options());
  ASSERT_TRUE(step) << step.error().message;
  expect_identical(**step);
  EXPECT_GT(pinned, 0u);
  EXPECT_LE(pinned, kMost);
}

TEST_P(Staging, KeepsAPlaceForEachWhereAllFit) {
  for (int i = 0; i < 4; ++i) there_and_back(1024);
  program = trace.program();
  EXPECT_EQ(plan_staging(*program, kMost)->resident_bytes, 8 * 1024u);
  EXPECT_EQ(plan_staging(*program, kMost)->ring_bytes, 0u);
  EXPECT_EQ(plan_staging(*program, 8 * 1024)->ring_bytes, 0u);
  EXPECT_EQ(plan_staging(*program, 8 * 1024 - 1)->ring_bytes, 3840u);
  EXPECT_EQ(plan_staging(*program, 8 * 1024 - 1)->resident_bytes, 0u) << "all of a size, or none";
  const auto step = load_late();
  ASSERT_TRUE(step);
  runs_as_recorded(*step);
  EXPECT_EQ(LateCopies::waits, 0u);
}

// A table of pointers is larger than a piece of the ring, and its words stand across the ends of
// pieces and chunks.
TEST_P(Staging, MovesPointersInEveryPiece) {
  std::vector<format::AllocationId> targets;
  for (int i = 0; i < 3; ++i) targets.push_back(trace.allocate(64));
  for (const size_t shift : {0u, 1u, 5u}) {
    std::vector<uint8_t> bytes = some_bytes(20000);
    for (size_t at = shift; at + 8 <= bytes.size(); at += 24) {
      const uint64_t address = trace.address(targets[at % 3]) + at % 64;
      std::memcpy(bytes.data() + at, &address, sizeof(address));
    }
    const auto table = trace.allocate(bytes.size());
    trace.copy_to_device(table, bytes, 0, true);
    launch_double(targets[0]);
  }
  program = trace.program();
  const auto step = load_late();
  ASSERT_TRUE(step);
  runs_as_recorded(*step);
  // And follows what is bound.
  std::vector<uint8_t> mine(64);
  ASSERT_TRUE(step->instance().session().bind({targets[1], mine.data(), mine.size(), false}));
  ASSERT_NO_FATAL_FAILURE(runs_as_recorded(*step));
}

TEST_P(Staging, DividesPitchedCopiesIntoRowsAndPartsOfThem) {
  struct Shape {
    uint64_t width, height, depth;
  };
  for (const Shape& shape :
       {Shape{100, 200, 1}, {100, 7, 30}, {5000, 3, 2}, {2048, 4, 1}, {1, 9000, 1}}) {
    const uint64_t pitch = shape.width + 28;
    const uint64_t slice = pitch * (shape.height + 1);
    const auto id = trace.allocate(slice * shape.depth + 512);
    format::Copy copy;
    copy.width_bytes = shape.width;
    copy.height = shape.height;
    copy.depth = shape.depth;
    copy.destination = {id, 12, pitch, slice};
    std::vector<uint8_t> packed = some_bytes(shape.width * shape.height * shape.depth);
    trace.copy_packed(copy, packed);
    launch_double(id);
    copy.source = std::exchange(copy.destination, {});
    trace.copy_packed(copy, packed);
  }
  program = trace.program();
  const auto step = load_late();
  ASSERT_TRUE(step);
  runs_as_recorded(*step);
}

TEST_P(Staging, TakesInputsAndOutputsOfTheCaller) {
  const auto id = trace.allocate(9000);
  trace.copy_to_device(id, some_bytes(9000), 0, true);
  for (int i = 0; i < 4; ++i) there_and_back(9000);
  trace.copy_to_host(id);
  program = trace.program();
  const auto step = load_late();
  ASSERT_TRUE(step);
  const auto inputs = find_inputs(*program);
  const auto outputs = find_outputs(*program);
  for (uint8_t n = 1; n < 8; ++n) {
    const std::vector<std::byte> mine(9000, std::byte{n});
    std::vector<std::byte> there(9000), again(9000);
    ASSERT_TRUE(step->set_input(inputs.front(), mine));
    ASSERT_TRUE(
        step->set_output(outputs.back(), n % 2 == 0 ? std::span(there) : std::span<std::byte>()));
    ASSERT_TRUE(step->run());
    ASSERT_TRUE(step->read_output(outputs.back(), again));
    EXPECT_EQ(again, mine);
    if (n % 2 == 0) {
      EXPECT_EQ(there, mine);
    }
  }
}

// Runs in flight keep the bytes that they were given.
TEST_P(Staging, InputsOfRunsInFlightStay) {
  const auto id = trace.allocate(9000);
  trace.copy_to_device(id, some_bytes(9000), 0, true);
  for (int i = 0; i < 4; ++i) there_and_back(9000);
  trace.copy_to_host(id);
  program = trace.program();
  const auto step = load_late();
  ASSERT_TRUE(step);
  const auto input = find_inputs(*program).front();
  const auto output = find_outputs(*program).back();
  std::vector<std::vector<std::byte>> there(9, std::vector<std::byte>(9000));
  for (uint8_t n = 0; n < 9; ++n) {
    ASSERT_TRUE(step->set_input(input, std::vector<std::byte>(9000, std::byte{n})));
    ASSERT_TRUE(step->set_output(output, there[n]));
    ASSERT_TRUE(step->run());
  }
  ASSERT_TRUE(step->wait());
  for (uint8_t n = 0; n < 9; ++n)
    EXPECT_EQ(there[n], std::vector<std::byte>(9000, std::byte{n})) << int{n};
}

TEST_P(Staging, EveryFaultIsAnError) {
  for (int i = 0; i < 5; ++i) there_and_back(6000);
  program = trace.program();
  fake.keep_log = false;
  int faults = 0;
  for (int n = 1;; ++n) {
    const auto library = fake.library();
    Result<void> result;
    fake.fail_call(n, 719);
    {
      auto step = Step::load(program, library, options());
      result = step ? (*step)->run() : tl::unexpected<Error>(step.error());
      if (result) result = (*step)->wait();
      const bool failed = fake.failed;
      fake.fail_call(0);
      if (!failed) break;
      if (step) {
        ASSERT_TRUE((*step)->restore());
        ASSERT_NO_FATAL_FAILURE(expect_identical(**step)) << "call " << n;
      }
    }
    ASSERT_EQ(fake.alive(), 0u) << "call " << n;
    if (!result) {
      ++faults;
      EXPECT_FALSE(result.error().message.empty());
    }
    ASSERT_LT(n, 5000);
  }
  EXPECT_GT(faults, 30);
}

TEST_P(Staging, SaysWhatItNeeds) {
  for (int i = 0; i < 20; ++i) there_and_back(100000);
  program = trace.program();
  SessionOptions small;
  small.staging_bytes = kMost;
  const auto bounded = memory_need(*program, small, {});
  const auto all = memory_need(*program, {}, {});
  ASSERT_TRUE(bounded && all);
  EXPECT_EQ(all->host - bounded->host, 20 * 100096u - 8192u)
      << "what is received stays in plain memory";
  EXPECT_EQ(bounded->received, 20 * 100096u);
  EXPECT_EQ(all->received, 0u);
  small.max_memory_bytes = bounded->device + bounded->host - 1;
  const auto refused = check_memory(*program, small, {}, *fake.library());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("2001920 of them for copies to the host beyond the staging memory"));
  ++small.max_memory_bytes;
  EXPECT_TRUE(check_memory(*program, small, {}, *fake.library()));
}

INSTANTIATE_TEST_SUITE_P(Modes, Staging,
                         ::testing::Values(Mode::kEager, Mode::kBatch, Mode::kGraph));

}  // namespace
}  // namespace gfxgraph::replayer::testing
