#include "replayer/step/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "replay_fixture.h"
#include "scenario.h"
#include "tests/support/allocations.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class EveryMode : public ::testing::TestWithParam<std::tuple<Mode, Layout>> {};

TEST_P(EveryMode, LeavesWhatTheProgramLeft) {
  FakeHip fake;
  {
    TestTrace trace(fake);
    build_scenario(fake, trace);
    LoadOptions options;
    std::tie(options.mode, options.layout) = GetParam();
    const auto replay = load(fake, trace.program(), options);
    ASSERT_NE(replay, nullptr);
    expect_identical(*replay);
    // Again from the initial state: nothing of the first run may be left.
    ASSERT_TRUE(replay->restore());
    expect_identical(*replay);
    if (options.layout == Layout::kShift) {
      // All but the module's variable, whose place the loader chooses.
      EXPECT_GE(replay->instance().memory().moved() + 1, replay->instance().memory().movable());
    }
  }
  EXPECT_EQ(fake.alive(), 0u);
}

// A content in chunks is restored chunk by chunk, with a pointer in two of them.
TEST(Restore, MovesPointersThatLieInTwoChunks) {
  FakeHip fake;
  {
    TestTrace trace(fake);
    const format::AllocationId target = trace.allocate(64);
    constexpr uint64_t kAcross = kTestChunkBytes - 4;
    constexpr size_t kBytes = 2 * kTestChunkBytes + 100;
    std::vector<uint8_t> initial(kBytes);
    for (size_t i = 0; i < kBytes; ++i) initial[i] = static_cast<uint8_t>(i * 31 + i / 256);
    const uint64_t recorded = trace.address(target) + 8;
    std::vector<format::Relocation> words;
    for (const uint64_t offset : {UINT64_C(16), kAcross, UINT64_C(8200)}) {
      std::memcpy(initial.data() + offset, &recorded, sizeof(recorded));
      words.push_back({offset, target, 8, format::RelocationSource::kMatched});
    }
    trace.edit_begin = [&](format::AllocationBegin& begin) { begin.initial.relocations = words; };
    const format::AllocationId id = trace.allocate(kBytes, initial);
    trace.edit_begin = {};
    LoadOptions options;
    options.layout = Layout::kShift;
    const auto replay = load(fake, trace.program(), options);
    ASSERT_NE(replay, nullptr);
    const Memory& memory = replay->instance().memory();
    const uint64_t moved = memory.addresses().placement(target).replay_device + 8;
    ASSERT_NE(moved, recorded);
    for (const format::Relocation& word : words) {
      std::memcpy(initial.data() + word.offset_bytes, &moved, sizeof(moved));
    }
    for (int round = 0; round < 2; ++round) {
      std::vector<std::byte> bytes(kBytes);
      ASSERT_TRUE(memory.read(id, 0, bytes));
      EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(initial))));
      ASSERT_TRUE(replay->restore());
    }
  }
  EXPECT_EQ(fake.alive(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryMode,
                         ::testing::Combine(::testing::Values(Mode::kEager, Mode::kBatch,
                                                              Mode::kGraph, Mode::kAuto),
                                            ::testing::Values(Layout::kSame, Layout::kShift)));

TEST_F(ReplayTest, SplitGraphsLeaveTheSame) {
  build_scenario(fake, trace);
  LoadOptions options;
  options.mode = Mode::kGraph;
  options.graph_max_nodes = 2;
  const auto replay = load(fake, trace.program(), options);
  ASSERT_NE(replay, nullptr);
  EXPECT_GT(replay->graph_statistics().graphs, 5u);
  expect_identical(*replay);
}

TEST_F(ReplayTest, LinearGraphsLeaveTheSame) {
  build_scenario(fake, trace);
  LoadOptions options;
  options.mode = Mode::kGraph;
  options.graph_linear = true;
  const auto replay = load(fake, trace.program(), options);
  ASSERT_NE(replay, nullptr);
  const GraphStatistics statistics = replay->graph_statistics();
  EXPECT_EQ(statistics.edges, statistics.nodes - statistics.graphs);
  expect_identical(*replay);
}

TEST_F(ReplayTest, EagerMakesTheRecordedCalls) {
  trace.stream(1);
  trace.event(1);
  const auto a = trace.allocate(64);
  launch_double(a, 1);
  trace.record(1, 1);
  trace.wait(0, 1);
  launch_double(a);
  trace.synchronize_event(1);
  const auto replay = load_mode(Mode::kEager);
  fake.log.clear();
  ASSERT_TRUE(replay->run());
  EXPECT_THAT(fake.log, ::testing::ElementsAre("launch", "record", "wait", "launch", "event sync"));
}

TEST_F(ReplayTest, BatchIsOneLoopOfLaunches) {
  trace.stream(1);
  const auto a = trace.allocate(64);
  for (int i = 0; i < 3; ++i) launch_double(a, i % 2);
  const auto replay = load_mode(Mode::kBatch);
  fake.log.clear();
  ASSERT_TRUE(replay->run());
  EXPECT_THAT(fake.log, ::testing::ElementsAre("launch", "launch", "launch"));
}

TEST_F(ReplayTest, GraphIsOneLaunch) {
  const auto a = trace.allocate(64);
  for (int i = 0; i < 50; ++i) launch_double(a);
  const auto replay = load_mode(Mode::kGraph);
  EXPECT_EQ(replay->graph_statistics().nodes, 50u);
  fake.log.clear();
  ASSERT_TRUE(replay->run());
  EXPECT_THAT(fake.log, ::testing::ElementsAre("graph launch"));
}

TEST_F(ReplayTest, HotPathAllocatesNothing) {
  const auto a = trace.allocate(64);
  for (int i = 0; i < 20; ++i) launch_double(a);
  fake.kernels["double"] = [](const FakeLaunch&) {};
  const auto program = trace.program();
  for (const Mode mode : {Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    // The fake runtime allocates; a replay of empty calls shows what this library does.
    HipTable table = fake.table();
    table.hipModuleLaunchKernel = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, unsigned, void*, void**, void**) { return 0; };
    table.hipGraphLaunch = [](void*, void*) { return 0; };
    table.hipStreamSynchronize = [](void*) { return 0; };
    auto replay = Step::load(program, *HipLibrary::from_table(table, "fake"), options);
    ASSERT_TRUE(replay);
    ASSERT_TRUE((*replay)->run());
    gfxgraph::testing::start_counting_allocations(gfxgraph::testing::OfThreads::kAll);
    for (int i = 0; i < 10; ++i) (void)(*replay)->run();
    EXPECT_EQ(gfxgraph::testing::stop_counting_allocations(), 0u) << mode_name(mode);
  }
}

TEST_F(ReplayTest, ChangedArgumentsReachEveryMode) {
  const auto a = trace.allocate(64);
  trace.launch("fill", Arguments().value(trace.address(a)).value(7u).value(4u));
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    const auto replay = load(fake, program, options);
    ASSERT_TRUE(replay->run());
    const uint32_t value = 42;
    ASSERT_TRUE(replay->values().set_kernarg(0, 8, std::as_bytes(std::span(&value, 1))));
    ASSERT_TRUE(replay->run());
    ASSERT_TRUE(replay->wait());
    uint32_t got = 0;
    ASSERT_TRUE(replay->instance().memory().read(a, 0, std::as_writable_bytes(std::span(&got, 1))));
    EXPECT_EQ(got, 42u) << mode_name(mode);
    EXPECT_FALSE(replay->values().set_kernarg(1, 0, {}));
    EXPECT_FALSE(replay->values().set_kernarg(0, 14, std::as_bytes(std::span(&value, 1))));
  }
}

TEST_F(ReplayTest, PartialWorkgroupsRunOutsideTheGraph) {
  const auto a = trace.allocate(64);
  launch_double(a);
  trace.edit_launch = [](format::Launch& launch) { launch.grid_remainder = {5, 0, 0}; };
  launch_double(a);
  trace.edit_launch = nullptr;
  launch_double(a);
  uint64_t items = 0;
  const auto replay = load_mode(Mode::kGraph);
  const FakeKernel original = fake.kernels["double"];
  fake.kernels["double"] = [&](const FakeLaunch& launch) {
    if (launch.work_items != 64) items = launch.work_items;
    original(launch);
  };
  EXPECT_EQ(replay->graph_statistics().launches, 2u);
  EXPECT_EQ(replay->graph_statistics().graphs, 1u) << "they are equal";
  EXPECT_THAT(replay->graph_statistics().outside, Contains(HasSubstr("partial workgroups")));
  expect_identical(*replay);
  EXPECT_EQ(items, 37u);  // one whole workgroup of 32 and 5 more
}

TEST_F(ReplayTest, LongProgramsAreSplitByDefault) {
  const auto a = trace.allocate(64);
  fake.kernels["double"] = [](const FakeLaunch&) {};
  for (uint32_t i = 0; i <= kMaxGraphNodes; ++i) launch_double(a);
  const auto replay = load_mode(Mode::kGraph);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(replay->graph_statistics().graphs, 2u);
}

TEST_F(ReplayTest, RefusesCodeObjectsNewerThanTheRuntime) {
  TestTrace newer(fake, [](std::vector<uint8_t>& elf) {
    elf[8] = 4;  // EI_ABIVERSION: version 6
    const std::string comment = "clang version 21.1.0";
    elf.insert(elf.end(), comment.begin(), comment.end());
  });
  newer.launch("double", Arguments().value(newer.address(newer.allocate(64))).value(4u));
  const auto program = newer.program();
  const auto refused = Step::load(program, fake.library(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kUnsupported);
  for (const char* part : {"code object version 6", "clang version 21.1.0", "HIP 5.2.21153"})
    EXPECT_THAT(refused.error().message, HasSubstr(part));
  fake.version = 60443483;
  EXPECT_TRUE(Step::load(program, fake.library(), {}));
}

TEST_F(ReplayTest, RefusesAStreamThatIsCapturing) {
  static int status = 0;
  launch_double(trace.allocate(64));
  HipTable table = fake.table();
  table.hipStreamIsCapturing = [](void*, int* out) {
    *out = status;
    return 0;
  };
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    auto replay = Step::load(program, *HipLibrary::from_table(table, "fake"), options);
    ASSERT_TRUE(replay) << replay.error().message;
    hip::Stream mine = nullptr;
    ASSERT_EQ(table.hipStreamCreateWithFlags(&mine, 0), 0);
    (*replay)->set_stream(mine);
    fake.log.clear();
    status = 1;
    const auto refused = (*replay)->run();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kUnsupported);
    EXPECT_TRUE(fake.log.empty());
    status = 0;
    EXPECT_TRUE((*replay)->run());
    EXPECT_TRUE((*replay)->wait());
    replay->reset();
    table.hipStreamDestroy(mine);
  }
}

TEST_F(ReplayTest, ShiftMovesModuleVariablesByLoadingThemTwice) {
  static std::vector<uint8_t> second(64);
  static uint64_t recorded = 0;
  static int asked = 0;
  asked = 0;
  const auto global = trace.allocate(64, {}, format::AllocationKind::kModuleGlobal, "table");
  recorded = trace.address(global);
  HipTable table = fake.table();
  table.hipModuleGetGlobal = [](void** pointer, size_t* size, void*, const char*) {
    *pointer = asked++ == 0 ? reinterpret_cast<void*>(recorded) : second.data();
    *size = 64;
    return 0;
  };
  LoadOptions options;
  options.mode = Mode::kBatch;
  options.layout = Layout::kShift;
  auto replay = Step::load(trace.program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(replay);
  EXPECT_EQ((*replay)->instance().memory().device_pointer(global), second.data());
  EXPECT_EQ((*replay)->instance().memory().moved(), 1u);
}

TEST_F(ReplayTest, HostWritesReachManagedVariables) {
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.host_address = begin.recorded_address;
  };
  const auto variable = trace.allocate(64, {}, format::AllocationKind::kModuleGlobal, "managed");
  fake.globals["managed"].resize(64);
  launch_double(variable);
  trace.host_write(variable, 4, {1, 2, 3});
  launch_double(variable);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    auto replay = Step::load(program, *HipLibrary::from_table(fake.table(), "fake"), options);
    ASSERT_TRUE(replay) << replay.error().message;
    expect_identical(**replay);
  }
  fake.globals["managed"].resize(8);
  const auto other = Step::load(program, *HipLibrary::from_table(fake.table(), "fake"), {});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("managed"));
}

TEST_F(ReplayTest, RefusesCooperativeLaunchByNameWhereTheRuntimeLacksIt) {
  const auto a = trace.allocate(64);
  trace.edit_launch = [](format::Launch& launch) { launch.cooperative = true; };
  launch_double(a);
  const auto replay = try_load({});
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().status, Status::kUnsupported);
  EXPECT_THAT(replay.error().message, HasSubstr("cooperative"));
  EXPECT_THAT(replay.error().message, HasSubstr("double"));
}

TEST_F(ReplayTest, LaunchesCooperativelyThroughARegisteredKernel) {
  fake.registers_kernels = true;
  const auto a = trace.allocate(64);
  trace.edit_launch = [](format::Launch& launch) { launch.cooperative = true; };
  launch_double(a);
  launch_double(a);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    const auto replay = load(fake, program, options);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(fake.registered_bundle.substr(0, 24), "__CLANG_OFFLOAD_BUNDLE__");
    EXPECT_THAT(fake.registered_bundle, HasSubstr("hipv4-amdgcn-amd-amdhsa--gfx1030"));
    EXPECT_EQ(fake.registered_bundle.substr(4096, 4),
              "\x7f"
              "ELF");
    fake.log.clear();
    expect_identical(*replay);
    EXPECT_EQ(std::count(fake.log.begin(), fake.log.end(), "cooperative launch"), 2);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

TEST_F(ReplayTest, RefusesACooperativeSecondCopyOfVariables) {
  fake.registers_kernels = true;
  fake.globals["table"] = std::vector<uint8_t>(64);
  trace.allocate(64, {}, format::AllocationKind::kModuleGlobal, "table");
  const auto a = trace.allocate(64);
  trace.edit_launch = [](format::Launch& launch) { launch.cooperative = true; };
  launch_double(a);
  const auto replay = try_load({});
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().status, Status::kUnsupported);
  EXPECT_THAT(replay.error().message, HasSubstr("launch 0 kernel double"));
  EXPECT_THAT(replay.error().message, HasSubstr("which has variables"));
}

TEST_F(ReplayTest, RefusesAnotherArchitectureNamingBoth) {
  trace.arch = "gfx1100";
  trace.allocate(64);
  const auto replay = try_load({});
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().status, Status::kUnsupported);
  EXPECT_THAT(replay.error().message, HasSubstr("gfx1100"));
  EXPECT_THAT(replay.error().message, HasSubstr("gfx1030"));
}

TEST_F(ReplayTest, RefusesKernelThatIsNotInItsCodeObject) {
  launch_double(trace.allocate(64));
  fake.kernels.erase("double");
  const auto replay = try_load({});
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().status, Status::kNotFound);
  EXPECT_THAT(replay.error().message, HasSubstr("double"));
}

TEST_F(ReplayTest, RefusesGraphThatLostANode) {
  const auto a = trace.allocate(64);
  launch_double(a);
  launch_double(a);
  fake.lose_graph_node = true;
  LoadOptions options;
  options.mode = Mode::kGraph;
  const auto replay = try_load(options);
  ASSERT_FALSE(replay);
  EXPECT_THAT(replay.error().message, HasSubstr("1 node instead of 2"));
}

TEST_F(ReplayTest, RefusesGraphModeOnVersionsThatLostModuleFunctions) {
  fake.version = 50400000;
  launch_double(trace.allocate(64));
  LoadOptions options;
  options.mode = Mode::kGraph;
  const auto replay = try_load(options);
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().status, Status::kUnsupported);
}

TEST_F(ReplayTest, BoundBuffersAreUsedAndKept) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  const auto b = trace.allocate_words({1, 1, 1, 1});
  launch_double(a);
  launch_double(b);
  std::vector<uint32_t> mine_a(4, 100);
  std::vector<uint32_t> mine_b(8, 10);
  LoadOptions options;
  options.mode = Mode::kAuto;  // trial runs must not show in kept buffers
  options.bindings = {{a, mine_a.data(), 16, false}, {b, mine_b.data(), 32, true}};
  const auto replay = load(fake, trace.program(), options);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(mine_a[2], 3u);
  EXPECT_EQ(mine_b[0], 10u);
  ASSERT_TRUE(replay->run());
  ASSERT_TRUE(replay->wait());
  EXPECT_EQ(mine_a[2], 7u);
  EXPECT_EQ(mine_b[0], 21u);
}

TEST_F(ReplayTest, RefusesBindingsThatDoNotFit) {
  const auto a = trace.allocate(64);
  std::vector<uint8_t> mine(64);
  const auto program = trace.program();
  const auto refused = [&](Binding binding) {
    LoadOptions options;
    options.bindings = {binding};
    const auto replay = Step::load(program, fake.library(), options);
    return replay ? Status::kOk : replay.error().status;
  };
  EXPECT_EQ(refused({a, mine.data(), 63, false}), Status::kInvalidArgument);
  EXPECT_EQ(refused({a, nullptr, 64, false}), Status::kInvalidArgument);
  EXPECT_EQ(refused({a + 1, mine.data(), 64, false}), Status::kNotFound);
  // Beyond the end of the address space.
  auto* const last = reinterpret_cast<void*>(UINTPTR_MAX - 63);
  EXPECT_EQ(refused({a, last, 64, false}), Status::kInvalidArgument);
  EXPECT_EQ(refused({a, last, SIZE_MAX, false}), Status::kInvalidArgument);
  EXPECT_EQ(refused({a, mine.data(), SIZE_MAX, false}), Status::kInvalidArgument);
  EXPECT_EQ(refused({a, mine.data(), 64, false}), Status::kOk);
}

TEST_F(ReplayTest, ReadAndWriteCheckTheirRange) {
  const auto a = trace.allocate(64);
  const auto replay = load_mode(Mode::kBatch);
  std::vector<std::byte> bytes(8);
  const Memory& memory = replay->instance().memory();
  EXPECT_TRUE(memory.read(a, 56, bytes));
  EXPECT_FALSE(memory.read(a, 57, bytes));
  EXPECT_FALSE(memory.write(a, UINT64_MAX, bytes));
  EXPECT_FALSE(memory.read(a + 1, 0, bytes));
  EXPECT_FALSE(memory.read(0, 0, bytes));
}

TEST(Summary, MedianAndTails) {
  std::vector<double> samples;
  for (int i = 101; i-- > 0;) samples.push_back(i);
  const Timing timing = summarise(samples);
  EXPECT_EQ(timing.samples.size(), 101u);
  EXPECT_DOUBLE_EQ(timing.median, 50);
  EXPECT_DOUBLE_EQ(timing.p10, 10);
  EXPECT_DOUBLE_EQ(timing.p90, 90);
  EXPECT_TRUE(summarise({}).samples.empty());
  EXPECT_DOUBLE_EQ(summarise({4}).p90, 4);
}

// The runtime keeps what it does not know to be complete: a batch does not let that grow with its
// length.
TEST_F(ReplayTest, ALongBatchWaitsForWhatLiesFarBehind) {
  const auto buffer = trace.allocate(64);
  constexpr int kLaunches = 40'000;
  for (int i = 0; i < kLaunches; ++i)
    trace.launch("fill", Arguments().value(trace.address(buffer)).value(i).value(4u));
  const auto replay = load_mode(Mode::kBatch);
  ASSERT_NE(replay, nullptr);
  fake.log.clear();
  expect_identical(*replay);
  int launches = 0;
  int unmarked = 0;  // since the last record
  int waits = 0;
  for (const std::string& call : fake.log) {
    if (call.starts_with("launch")) ++launches, ++unmarked;
    if (call == "record") unmarked = 0;
    if (call == "event sync") ++waits;
    EXPECT_LE(unmarked, 8192);
  }
  EXPECT_EQ(launches, kLaunches);
  EXPECT_EQ(waits, 3) << "at the second mark and at each later one";
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
