#include "replayer/memory/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "replay_fixture.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() : trace(fake) { add_test_kernels(fake); }
  void launch_double(format::AllocationId id) {
    trace.launch("double", Arguments().value(trace.address(id)).value(4u));
  }
  FakeHip fake;
  TestTrace trace;
};

TEST_F(LimitsTest, GraphLaunchesCountTheirNodesBeforeTheyAreExpanded) {
  const auto a = trace.allocate(64);
  format::Graph graph;
  const Arguments arguments = Arguments().value(trace.address(a)).value(4u);
  for (int i = 0; i < 10; ++i) graph.nodes.push_back({trace.make_launch("double", arguments), {}});
  for (int i = 0; i < 5; ++i) trace.graph_launch(graph);
  launch_double(a);
  const auto opened = trace.finish();
  EXPECT_TRUE(Program::build(opened, 51));
  const auto refused = Program::build(opened, 50);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 50 operations"));
}

TEST_F(LimitsTest, MemoryIsSummedBeforeAnythingIsAllocated) {
  const auto a = trace.allocate(10000);
  trace.allocate(5000, {}, format::AllocationKind::kHostPinned);
  launch_double(a);
  trace.copy_to_host(a);
  const auto program = trace.program();
  const auto need = memory_need(*program, {}, {});
  ASSERT_TRUE(need);
  EXPECT_EQ(need->device, 10000u);
  EXPECT_GE(need->host, 15000u);
  LoadOptions options;
  options.max_memory_bytes = need->device + need->host - 1;
  fake.log.clear();
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was allocated"));
  EXPECT_EQ(fake.alive(), 0u);
  options.max_memory_bytes += 1;
  EXPECT_TRUE(Step::load(program, fake.library(), options));
}

// The software agent keeps its device's memory in this machine's, but only what was written.
TEST_F(LimitsTest, MemoryThatIsNeverWrittenTakesNoneOfTheMachine) {
  constexpr uint64_t kPool = 64 * kTestChunkBytes;
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial = {};
    begin.initial.size_bytes = begin.size_bytes;
    begin.initial.unwritten = true;
  };
  const auto pool = trace.allocate(kPool, std::vector<uint8_t>(kPool));
  trace.launch("fill", Arguments().value(trace.address(pool)).value(7u).value(16u));
  const auto program = trace.program();
  const auto need = memory_need(*program, {}, {});
  ASSERT_TRUE(need);
  EXPECT_EQ(need->device, kPool);
  EXPECT_EQ(need->device_held, kTestChunkBytes);
  MachineMemory machine{need->device_held + need->host, true};
  EXPECT_TRUE(check_memory(*program, {}, {}, *fake.library(), &machine));
  --machine.available_bytes;
  const auto refused = check_memory(*program, {}, {}, *fake.library(), &machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
  EXPECT_THAT(
      refused.error().message,
      AllOf(HasSubstr("4096 for what device buffers hold"), HasSubstr("this machine has available"),
            HasSubstr("nothing was allocated"), HasSubstr("--max-memory")));
  // A limit that was given counts instead.
  SessionOptions options;
  options.max_memory_bytes = need->device + need->host;
  EXPECT_TRUE(check_memory(*program, options, {}, *fake.library(), &machine));
  machine = {need->host, false};
  EXPECT_TRUE(check_memory(*program, {}, {}, *fake.library(), &machine));
  --machine.available_bytes;
  EXPECT_FALSE(check_memory(*program, {}, {}, *fake.library(), &machine));
  options = {};
  options.poison_fresh = true;
  EXPECT_EQ(memory_need(*program, options, {})->device_held, kPool);
}

TEST_F(LimitsTest, BoundBuffersNeedNoMemory) {
  const auto a = trace.allocate(10000);
  const auto program = trace.program();
  LoadOptions options;
  options.bindings = {{a, this, 10000, true}};
  EXPECT_EQ(memory_need(*program, options, {})->device, 0u);
}

TEST(DeadlineTest, PassesOnlyWhenItIsOver) {
  Deadline never;
  Deadline later(1000);
  Deadline soon(1e-6);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bool over = false;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(never.check("x"));
    EXPECT_TRUE(later.check("x"));
    over = over || !soon.check("building");
  }
  EXPECT_TRUE(over);
}

TEST_F(LimitsTest, LoadingEndsWhenItsTimeIsOver) {
  const auto a = trace.allocate(64);
  for (int i = 0; i < 1000; ++i) launch_double(a);
  const auto program = trace.program();
  LoadOptions options;
  options.max_load_seconds = 1e-9;
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("loading took more than"));
  EXPECT_EQ(fake.alive(), 0u);
  options.max_load_seconds = 1000;
  EXPECT_TRUE(Step::load(program, fake.library(), options));
}

// Everything that a session takes comes from the caller's allocator, and goes back to it.
TEST(Allocator, GivesAllMemoryOfASession) {
  FakeHip fake;
  static FakeHip* hip = nullptr;
  static std::map<void*, int> given;
  static std::vector<size_t> of_kind;
  static size_t fail_at = 0;
  hip = &fake;
  of_kind.assign(3, 0);
  Allocator allocator;
  allocator.context = &given;
  allocator.allocate = [](void* context, void** pointer, size_t bytes, int kind) {
    if (fail_at != 0 && --fail_at == 0) return hip::kErrorOutOfMemory;
    EXPECT_EQ(context, &given);
    const hip::Error code = hip->table().hipMalloc(pointer, bytes);
    given[*pointer] = kind;
    ++of_kind[static_cast<size_t>(kind)];
    return code;
  };
  allocator.release = [](void* context, void* pointer) {
    EXPECT_EQ(context, &given);
    EXPECT_EQ(given.erase(pointer), 1u);
    hip->table().hipFree(pointer);
  };
  TestTrace trace(fake);
  build_scenario(fake, trace);
  trace.allocate(64, {}, format::AllocationKind::kManaged);
  const auto program = trace.program();
  // HIP's own give nothing, but for the trial's.
  HipTable table = fake.table();
  table.hipMalloc = [](void**, size_t) { return 1; };
  table.hipHostMalloc = [](void**, size_t, unsigned) { return 1; };
  table.hipMallocManaged = [](void**, size_t, unsigned) { return 1; };
  table.hipFree = [](void*) -> int {
    ADD_FAILURE() << "hipFree";
    return 1;
  };
  table.hipHostFree = [](void*) -> int {
    ADD_FAILURE() << "hipHostFree";
    return 1;
  };
  const auto library = *HipLibrary::from_table(table, "fake");
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    options.layout = Layout::kShift;
    options.allocator = allocator;
    {
      const auto step = Step::load(program, library, options);
      ASSERT_TRUE(step) << step.error().message;
      EXPECT_FALSE(given.empty());
      expect_identical(**step);
    }
    EXPECT_TRUE(given.empty()) << mode_name(mode);
    for (size_t n = 1; n < 5; ++n) {
      fail_at = n;
      const auto refused = Step::load(program, library, options);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
      EXPECT_TRUE(given.empty());
    }
    fail_at = 0;
  }
  for (const size_t count : of_kind) EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
