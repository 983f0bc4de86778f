// What replay does where a version of HIP gets memsets, edges or nodes of graphs wrong.
#include <gtest/gtest.h>

#include "replay_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

TEST_F(ReplayTest, PitchedMemsetsAreRightWhereTheirNodesAreNot) {
  const auto a = trace.allocate(64 * 300);
  format::Memset memset;
  memset.allocation = a;
  memset.value = 0x7E;
  memset.width_elements = 5;
  memset.pitch_bytes = 64;
  memset.height = 10;
  trace.memset(memset);
  memset.height = 300;
  memset.offset_bytes = 8;
  trace.memset(memset);
  const auto program = trace.program();
  for (const int version : {50221153, 70251831}) {
    fake.version = version;
    LoadOptions options;
    options.mode = Mode::kGraph;
    const auto replay = load(fake, program, options);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(replay->graph_statistics().nodes, version < 60000000 ? 10u : 2u);
    EXPECT_EQ(replay->graph_statistics().outside.size(), version < 60000000 ? 1u : 0u);
    expect_identical(*replay);
  }
}

TEST_F(ReplayTest, PitchedCopiesGetTheirKind) {
  const auto device = trace.allocate(256, std::vector<uint8_t>(256, 7));
  const auto pinned =
      trace.allocate(256, std::vector<uint8_t>(256, 1), format::AllocationKind::kHostPinned);
  format::Copy copy;
  copy.width_bytes = 16;
  copy.height = 8;
  copy.source = {device, 0, 16, 0};
  copy.destination = {pinned, 0, 32, 0};
  trace.copy(copy);
  std::swap(copy.source, copy.destination);
  trace.copy(copy);
  const auto program = trace.program();
  for (const int version : {50221153, 50731921}) {
    fake.version = version;
    const auto replay = load(fake, program, {});
    ASSERT_NE(replay, nullptr);
    const bool told = version == 50731921;
    EXPECT_EQ(replay->instance().copy(0).kind, told ? hip::kDeviceToHost : hip::kCopyDefault);
    EXPECT_EQ(replay->instance().copy(1).kind, told ? hip::kHostToDevice : hip::kCopyDefault);
  }
}

TEST_F(ReplayTest, RowsOfWideElementsAreNodesOfTheirOwn) {
  const auto a = trace.allocate(64 * 10);
  for (const uint32_t bytes : {1u, 2u, 4u}) {
    format::Memset memset;
    memset.allocation = a;
    memset.value = 0x7E;
    memset.element_bytes = bytes;
    memset.width_elements = 8;
    memset.pitch_bytes = 64;
    memset.height = 10;
    trace.memset(memset);
  }
  const auto program = trace.program();
  fake.version = 70253211;
  LoadOptions options;
  options.mode = Mode::kGraph;
  const auto replay = load(fake, program, options);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(replay->graph_statistics().nodes, 1u + 10u + 10u);
  expect_identical(*replay);
}

TEST_F(ReplayTest, NoEdgeIsLostWhereTheRuntimeDropsThem) {
  const auto first = trace.allocate(64, std::vector<uint8_t>(64, 1));
  const auto shared = trace.allocate(64, std::vector<uint8_t>(64, 2));
  const auto other = trace.allocate(64, std::vector<uint8_t>(64, 3));
  const auto last = trace.allocate(64, std::vector<uint8_t>(64, 4));
  for (const format::StreamId id : {1u, 2u}) trace.stream(id);
  trace.event(1);
  const auto copy = [&](format::AllocationId to, format::AllocationId from,
                        format::StreamId stream) {
    format::Copy made = trace.make_copy(to, from, 64);
    made.stream = stream;
    made.asynchronous = true;
    trace.copy(made);
  };
  copy(shared, first, 1);
  trace.record(1, 1);
  copy(other, first, 2);
  copy(first, shared, 1);  // follows the first, which the last one follows, too
  trace.wait(2, 1);
  copy(last, shared, 2);
  const auto program = trace.program();
  // 5.7.1 and 7.2.4: one more before the two roots (kRootsBeginEarly).
  for (const auto& [version, nodes] : {std::pair{50221153, 5u}, {50731921, 6u}, {70251831, 5u}}) {
    fake.version = version;
    LoadOptions options;
    options.mode = Mode::kGraph;
    const auto replay = load(fake, program, options);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(replay->graph_statistics().nodes, nodes);
    expect_identical(*replay);
  }
}

TEST_F(ReplayTest, SeveralRootsFollowOneWhereTheyWouldBeginEarly) {
  const auto from = trace.allocate(64, std::vector<uint8_t>(64, 1));
  const auto one = trace.allocate(64);
  const auto other = trace.allocate(64);
  for (const format::StreamId id : {1u, 2u}) {
    trace.stream(id);
    format::Copy made = trace.make_copy(id == 1 ? one : other, from, 64);
    made.stream = id;
    made.asynchronous = true;
    trace.copy(made);
  }
  const auto program = trace.program();
  struct Case {
    int version;
    size_t nodes, edges;
  };
  for (const Case runtime : {Case{50221153, 2, 0}, Case{50731921, 3, 2}, Case{70251831, 3, 2}}) {
    fake.version = runtime.version;
    LoadOptions options;
    options.mode = Mode::kGraph;
    const auto replay = load(fake, program, options);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(replay->graph_statistics().nodes, runtime.nodes) << runtime.version;
    EXPECT_EQ(replay->graph_statistics().edges, runtime.edges) << runtime.version;
    expect_identical(*replay);
    options.graph_linear = true;  // one root
    const auto linear = load(fake, program, options);
    ASSERT_NE(linear, nullptr);
    EXPECT_EQ(linear->graph_statistics().nodes, 2u);
  }
}

TEST_F(ReplayTest, MemsetNodesBecomeCopiesWhereTheirPatternsAreLost) {
  const auto a = trace.allocate(300 << 10);
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  format::Memset memset;
  memset.allocation = a;
  memset.offset_bytes = 3;
  memset.value = 0x7E;
  memset.width_elements = (300 << 10) - 5;
  trace.memset(memset);
  memset.element_bytes = 4;
  memset.value = 0x01020304;
  memset.offset_bytes = 16;
  memset.width_elements = 3;
  memset.height = 4;
  memset.pitch_bytes = 32;
  trace.memset(memset);
  memset.allocation = pinned;
  memset.height = 1;
  memset.element_bytes = 2;
  trace.memset(memset);
  const auto program = trace.program();
  for (const int version : {50221153, 60443483, 70251831}) {
    fake.version = version;
    LoadOptions options;
    options.mode = Mode::kGraph;
    const auto replay = load(fake, program, options);
    ASSERT_NE(replay, nullptr);
    // 64 KiB from the pattern, then 64, 128 and what is left, or one node; four rows; one.
    const size_t expected = (version == 60443483 ? 4u : 1u) + 4u + 1u;
    EXPECT_EQ(replay->graph_statistics().nodes, expected) << version;
    expect_identical(*replay);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

TEST_F(ReplayTest, SmallContentsAreNeverFilled) {
  trace.allocate(13, std::vector<uint8_t>(5, 1));
  trace.allocate(1);
  HipTable table = fake.table();
  table.hipMemsetAsync = [](void*, int, size_t, void*) { return 1; };
  LoadOptions options;
  options.mode = Mode::kBatch;
  auto replay = Step::load(trace.program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(replay) << replay.error().message;
  expect_identical(**replay);
}

// The program's own: recorded where they are right, replayed where they are not.
TEST_F(ReplayTest, SmallMemsetsAreCopiesWhereTheyOverrun) {
  const auto a = trace.allocate(64);
  const auto add = [&](uint64_t offset, uint32_t element_bytes, uint64_t width, uint64_t height,
                       uint64_t pitch) {
    format::Memset memset;
    memset.allocation = a;
    memset.offset_bytes = offset;
    memset.element_bytes = element_bytes;
    memset.value = 0x4241;
    memset.width_elements = width;
    memset.height = height;
    memset.pitch_bytes = pitch;
    trace.memset(memset);
  };
  add(1, 1, 1, 1, 0);
  add(10, 2, 2, 1, 0);
  add(17, 2, 1, 3, 13);
  add(3, 1, 13, 1, 0);
  HipTable table = fake.table();
  const auto right = [](void* to, size_t bytes) {
    return reinterpret_cast<uintptr_t>(to) % 8 == 0 ||
           bytes >= 8 - reinterpret_cast<uintptr_t>(to) % 8;
  };
  static decltype(right) is_right = right;
  static HipTable real;
  real = table;
  table.hipMemsetAsync = [](void* to, int value, size_t size, void* stream) {
    return is_right(to, size) ? real.hipMemsetAsync(to, value, size, stream) : 1;
  };
  table.hipMemsetD16Async = [](void* to, unsigned short value, size_t count, void* stream) {
    return is_right(to, 2 * count) ? real.hipMemsetD16Async(to, value, count, stream) : 1;
  };
  table.hipGraphAddMemsetNode = [](void** node, void* graph, void* const* dependencies,
                                   size_t count, const hip::MemsetParams* p) {
    return is_right(p->destination, p->element_bytes * p->width)
               ? real.hipGraphAddMemsetNode(node, graph, dependencies, count, p)
               : 1;
  };
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    auto replay = Step::load(program, *HipLibrary::from_table(table, "fake"), options);
    ASSERT_TRUE(replay) << replay.error().message;
    expect_identical(**replay);
  }
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
