// The recorder without HIP: graphs, their nodes and launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/recorder/fake_device/recorder_graph_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Edges made in another order: HIP 5.2 is known to pair the nodes by them, others are not.
TEST_F(RecorderGraphTest, UpdatesArePairedAsTheRuntimeDoes) {
  for (const int32_t version : {50'221'153, 50'731'921, 60'443'483}) {
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    device_memory(data_, sizeof(data_));
    for (const uint32_t first : {1u, 4u}) {
      const Handle graph = handle(30 + first);
      recorder_->graphs().graph_created(graph);
      for (uint32_t i = 0; i < 3; ++i) add_node(graph, handle(first + i), set_bytes(first + i));
      for (const uint32_t to : first == 1 ? std::array{2u, 3u} : std::array{6u, 5u}) {
        const Handle from_node = handle(first);
        const Handle to_node = handle(to);
        recorder_->graphs().dependencies_changed(graph, &from_node, &to_node, 1, true);
      }
    }
    recorder_->executables().instantiated(handle(40), handle(31));
    recorder_->executables().updated(handle(40), handle(34));
    launch(handle(40), nullptr);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), version < 50'300'000) << version;
    if (!trace->complete()) continue;
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    std::vector<uint32_t> values;
    for (const format::GraphNode& node : trace->graphs()[0].nodes) {
      values.push_back(std::get<format::Memset>(node.action).value);
    }
    EXPECT_THAT(values, ElementsAre(4, 6, 5));
  }
}

TEST_F(RecorderGraphTest, EventNodesOrderTheWholeGraph) {
  device_memory(data_, sizeof(data_));
  recorder_->streams().stream_created(handle(10), 0, 0);
  for (uintptr_t event : {20, 21, 22}) recorder_->streams().event_created(handle(event), 0);
  recorder_->graphs().graph_created(handle(30));
  add_node(handle(30), handle(31), RawEventWait{handle(20)});
  add_node(handle(30), handle(32), set_bytes(1), {handle(31)});
  add_node(handle(30), handle(33), RawEventRecord{handle(21)}, {handle(32)});
  recorder_->executables().instantiated(handle(40), handle(30));
  launch(handle(40), handle(10));
  launch(handle(40), handle(10));
  recorder_->executables().changed(handle(40), handle(33), RawEventRecord{handle(22)}, "change");
  launch(handle(40), handle(10));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(order(*trace), "wait1 launch record2 wait1 launch record2 wait1 launch record3 ");
  ASSERT_THAT(trace->graphs(), SizeIs(1)) << "an event is no part of what a graph does";
  EXPECT_THAT(trace->graphs()[0].nodes, SizeIs(3));
}

// The values that a launch of the graph sets, in the order of its nodes; "-" for nodes that do
// nothing.
std::string values_of(const format::Graph& graph) {
  std::string text;
  for (const format::GraphNode& node : graph.nodes) {
    const auto* set = std::get_if<format::Memset>(&node.action);
    text += set == nullptr ? "-" : std::to_string(set->value);
  }
  return text;
}

TEST_F(RecorderGraphTest, ADisabledNodeDoesNothingUntilItIsEnabled) {
  device_memory(data_, sizeof(data_));
  recorder_->graphs().graph_created(handle(30));
  add_node(handle(30), handle(31), set_bytes(1));
  add_node(handle(30), handle(32), set_bytes(2), {handle(31)});
  add_node(handle(30), handle(33), set_bytes(3), {handle(32)});
  recorder_->executables().instantiated(handle(40), handle(30));
  recorder_->executables().node_enabled(handle(40), handle(32), true);  // it is
  launch(handle(40), nullptr);
  recorder_->executables().node_enabled(handle(40), handle(32), false);
  launch(handle(40), nullptr);
  recorder_->executables().changed(handle(40), handle(32), set_bytes(4), "change");
  launch(handle(40), nullptr);
  recorder_->executables().node_enabled(handle(40), handle(32), true);
  launch(handle(40), nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->graphs(), SizeIs(3)) << "a change of what is disabled changes no launch";
  EXPECT_EQ(values_of(trace->graphs()[0]), "123");
  EXPECT_EQ(values_of(trace->graphs()[1]), "1-3");
  EXPECT_EQ(values_of(trace->graphs()[2]), "143");
}

TEST_F(RecorderGraphTest, NodesThatTheRuntimeMayDropMakeATraceIncomplete) {
  const void* const from = handle(31);
  const void* const middle = handle(32);
  const void* const to = handle(33);
  for (const bool chain_remains : {false, true}) {
    for (const int32_t version : {50'221'153, 60'443'483}) {
      state_.runtime_version = version;
      std::filesystem::remove(path());
      make({});
      device_memory(data_, sizeof(data_));
      recorder_->graphs().graph_created(handle(30));
      add_node(handle(30), handle(31), set_bytes(1));
      add_node(handle(30), handle(32), set_bytes(2), {handle(31)});
      add_node(handle(30), handle(33), set_bytes(3), {handle(32)});
      if (chain_remains) {  // the last node: no level changes
        recorder_->graphs().node_destroyed(handle(33));
      } else {
        recorder_->graphs().dependencies_changed(handle(30), &middle, &to, 1, false);
        recorder_->graphs().dependencies_changed(handle(30), &from, &to, 1, true);
      }
      recorder_->executables().instantiated(handle(40), handle(30));
      launch(handle(40), nullptr);
      const auto trace = finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->complete(), chain_remains || version > 60'000'000);
    }
  }
}

TEST_F(RecorderGraphTest, ACopyNodeThatIsSetByACallOfAnotherForm) {
  const auto copy = [&](CopyForm form) {
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(&data_[8]);
    raw.source.address = reinterpret_cast<uint64_t>(&data_[0]);
    raw.width_bytes = 8;
    raw.form = form;
    return raw;
  };
  using enum CopyForm;
  struct Case {
    CopyForm made, set;
    bool known;
  };
  for (const Case& one :
       {Case{kLinear, kLinear, true}, Case{kBox, kBox, true}, Case{kLinear, kBox, false},
        Case{kBox, kLinear, false}, Case{kBox, kDriverBox, false}, Case{kToSymbol, kLinear, false},
        Case{kUnknown, kBox, true}}) {
    for (const bool executable : {false, true}) {
      std::filesystem::remove(path());
      make({});
      device_memory(data_, sizeof(data_));
      recorder_->graphs().graph_created(handle(30));
      add_node(handle(30), handle(31), copy(one.made));
      if (!executable) recorder_->graphs().node_changed(handle(31), copy(one.set), "set");
      recorder_->executables().instantiated(handle(40), handle(30));
      if (executable)
        recorder_->executables().changed(handle(40), handle(31), copy(one.set), "set");
      launch(handle(40), nullptr);
      const auto trace = finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->complete(), one.known) << static_cast<int>(one.made) << executable;
    }
  }
}

TEST_F(RecorderGraphTest, RowsOfWideElementsAreRecordedAsTheRuntimeSetsThem) {
  for (const int32_t version : {60'443'483, 80'000'000}) {
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    device_memory(data_, sizeof(data_));
    RawMemset rows = set_bytes(1);
    rows.element_bytes = 2;
    rows.width_elements = 4;
    rows.pitch_bytes = 32;
    rows.height = 2;
    recorder_->graphs().graph_created(handle(30));
    add_node(handle(30), handle(31), rows);
    recorder_->executables().instantiated(handle(40), handle(30));
    launch(handle(40), nullptr);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    const auto& set = std::get<format::Memset>(trace->graphs()[0].nodes.at(0).action);
    EXPECT_EQ(set.width_elements, version == 60'443'483 ? 8u : 4u);
  }
}

TEST_F(RecorderGraphTest, AnUpdateOfAGraphWithDisabledNodesIsRefused) {
  device_memory(data_, sizeof(data_));
  recorder_->graphs().graph_created(handle(30));
  add_node(handle(30), handle(31), set_bytes(1));
  recorder_->executables().instantiated(handle(40), handle(30));
  recorder_->executables().node_enabled(handle(40), handle(31), false);
  recorder_->executables().updated(handle(40), handle(30));
  recorder_->executables().node_enabled(handle(40), handle(99), false);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(trace->findings(), SizeIs(2));
}

TEST_F(RecorderGraphTest, ASecondDisabledNodeIsRefusedWhereTheRuntimeTakesTheFirst) {
  for (const int32_t version : {60'443'483, 70'253'211}) {
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().graph_created(handle(30));
    add_node(handle(30), handle(31), set_bytes(1));
    add_node(handle(30), handle(32), set_bytes(2), {handle(31)});
    recorder_->executables().instantiated(handle(40), handle(30));
    for (const uintptr_t node : {31, 31, 32}) {
      recorder_->executables().node_enabled(handle(40), handle(node), false);
      recorder_->executables().node_enabled(handle(40), handle(node), true);
    }
    launch(handle(40), nullptr);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), version < 70'000'000) << version;
  }
}

TEST_F(RecorderGraphTest, AChildOfAnExecutableIsReplacedAsAWhole) {
  device_memory(data_, sizeof(data_));
  recorder_->streams().stream_created(handle(10), 0, 0);
  for (uintptr_t graph : {30, 50, 60}) recorder_->graphs().graph_created(handle(graph));
  add_node(handle(50), handle(51), set_bytes(1));
  add_node(handle(50), handle(52), set_bytes(2), {handle(51)});
  add_node(handle(30), handle(31), set_bytes(3));
  const Handle first = handle(31);
  recorder_->graphs().child_node_added(handle(30), handle(32), &first, 1, handle(50));
  recorder_->executables().instantiated(handle(40), handle(30));
  launch(handle(40), handle(10));
  add_node(handle(60), handle(61), set_bytes(8));
  add_node(handle(60), handle(62), set_bytes(9), {handle(61)});
  recorder_->executables().child_changed(handle(40), handle(32), handle(60));
  launch(handle(40), handle(10));
  const auto values = [](const format::Graph& graph) {
    std::vector<uint32_t> found;
    for (const format::GraphNode& node : graph.nodes) {
      found.push_back(std::get<format::Memset>(node.action).value);
    }
    return found;
  };
  auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->graphs(), SizeIs(2));
  EXPECT_THAT(values(trace->graphs()[0]), ElementsAre(3, 1, 2));
  EXPECT_THAT(values(trace->graphs()[1]), ElementsAre(3, 8, 9));
}

TEST_F(RecorderGraphTest, AChildOfAnotherShapeIsIncomplete) {
  recorder_->graphs().graph_created(handle(30));
  recorder_->graphs().graph_created(handle(50));
  add_node(handle(50), handle(51), RawAction{});
  recorder_->graphs().child_node_added(handle(30), handle(32), nullptr, 0, handle(50));
  recorder_->executables().instantiated(handle(40), handle(30));
  recorder_->executables().child_changed(handle(40), handle(32), handle(30));
  EXPECT_TRUE(finish()->complete()) << "one node for one node";
  make({});
  recorder_->graphs().graph_created(handle(30));
  recorder_->executables().instantiated(handle(40), handle(30));
  recorder_->graphs().graph_created(handle(50));
  add_node(handle(50), handle(51), RawAction{});
  recorder_->executables().child_changed(handle(40), handle(32), handle(50));
  EXPECT_FALSE(finish()->complete());
}

TEST_F(RecorderGraphTest, AChildThatEndsWithSeveralNodesIsNamed) {
  for (const bool joined : {false, true}) {
    std::filesystem::remove(path());
    state_.runtime_version = 60'443'483;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().graph_created(handle(30));
    recorder_->graphs().graph_created(handle(31));
    add_node(handle(30), handle(1), set_bytes(1));
    add_node(handle(30), handle(2), set_bytes(2));
    if (joined) add_node(handle(30), handle(3), std::monostate{}, {handle(1), handle(2)});
    recorder_->graphs().child_node_added(handle(31), handle(4), nullptr, 0, handle(30));
    recorder_->executables().instantiated(handle(40), handle(31));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(trace->findings(), SizeIs(joined ? 0 : 1));
  }
}

TEST_F(RecorderGraphTest, AChildThatMayBeginEarlyIsNamed) {
  struct Case {
    bool root_first, ordered, named;
  };
  for (const Case one :
       {Case{true, true, true}, Case{false, true, false}, Case{true, false, false}}) {
    std::filesystem::remove(path());
    state_.runtime_version = 50'221'153;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().graph_created(handle(30));
    recorder_->graphs().graph_created(handle(31));
    add_node(handle(30), handle(1), set_bytes(1));
    if (one.ordered) add_node(handle(30), handle(2), set_bytes(2), {handle(1)});
    if (one.root_first) add_node(handle(31), handle(3), set_bytes(3));
    recorder_->graphs().child_node_added(handle(31), handle(4), nullptr, 0, handle(30));
    if (!one.root_first) add_node(handle(31), handle(3), set_bytes(3));
    recorder_->executables().instantiated(handle(40), handle(31));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(trace->findings(), SizeIs(one.named ? 1 : 0));
  }
}

TEST_F(RecorderGraphTest, RootsThatMayBeginEarlyAreNamed) {
  struct Case {
    int version;
    bool ordered, named;
  };
  for (const Case one : {Case{50'731'921, false, true}, Case{50'731'921, true, false},
                         Case{50'221'153, false, false}}) {
    std::filesystem::remove(path());
    state_.runtime_version = one.version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->streams().stream_created(handle(10), 0, 0);
    recorder_->graphs().graph_created(handle(30));
    add_node(handle(30), handle(1), set_bytes(1));
    if (one.ordered)
      add_node(handle(30), handle(2), set_bytes(2), {handle(1)});
    else
      add_node(handle(30), handle(2), set_bytes(2));
    recorder_->executables().instantiated(handle(40), handle(30));
    launch(handle(40), handle(10));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(trace->findings(), SizeIs(one.named ? 1 : 0));
  }
}

TEST_F(RecorderGraphTest, MemsetNodesOfSeveralRowsAreRecordedAsTheRuntimeDoesThem) {
  for (const bool broken : {true, false}) {
    state_.runtime_version = broken ? 50'221'153 : 80'000'000;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->streams().stream_created(handle(10), 0, 0);
    recorder_->graphs().graph_created(handle(30));
    RawMemset rows = set_bytes(7);
    rows.element_bytes = 2;
    rows.height = 2;
    rows.pitch_bytes = 32;
    add_node(handle(30), handle(31), rows);
    recorder_->executables().instantiated(handle(40), handle(30));
    launch(handle(40), handle(10));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const auto& set = std::get<format::Memset>(trace->graphs()[0].nodes[0].action);
    EXPECT_EQ(set.value, broken ? 2u : 7u);
    EXPECT_EQ(set.element_bytes, broken ? 1u : 2u);
    EXPECT_EQ(trace->findings().size(), broken ? 1u : 0u);
  }
}

TEST_F(RecorderGraphTest, FindingsOfACallCountOnlyIfItSucceeds) {
  Work refused;
  recorder_->work().prepare_graph_launch(nullptr, nullptr, refused);
  EXPECT_TRUE(recorder_->report().incomplete.empty()) << "HIP refused it: nothing was committed";
  Work work;
  recorder_->work().prepare_graph_launch(handle(77), nullptr, work);
  recorder_->commit(work);
  EXPECT_EQ(recorder_->report().incomplete.size(), 1u);
}

// The word that a node was given keeps its meaning, whatever memory comes to lie there.
TEST_F(RecorderHostMemoryTest, NodesKeepTheAllocationThatTheirWordsWereMadeFrom) {
  for (const bool captured : {false, true}) {
    SCOPED_TRACE(captured);
    begin_anew({});
    char* const memory = other_;
    device_memory(memory + 2048, 64);
    RawLaunch raw = raw_launch(memory);
    const auto address = reinterpret_cast<uint64_t>(memory);
    std::memcpy(raw.kernarg.data(), &address, sizeof(address));
    if (captured) {
      recorder_->graphs().capture_begins(handle(10));
      Work work;
      work.raw = raw;
      work.stream = handle(10);
      work.call = "hipLaunchKernel";
      recorder_->work().prepare(work);
      recorder_->commit(work);
      state_.nodes = {host_};
      recorder_->graphs().capture_ended(handle(10), handle(30));
    } else {
      recorder_->graphs().graph_created(handle(30));
      recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, raw, "add");
    }
    recorder_->executables().instantiated(handle(40), handle(30));
    for (int i = 0; i < 2; ++i) {
      Work work;
      recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
      recorder_->commit(work);
      if (i == 0) device_memory(memory - 64, 256);
    }
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    const auto& launch = std::get<format::Launch>(trace->graphs()[0].nodes[0].action);
    ASSERT_THAT(launch.relocations, SizeIs(1));
    EXPECT_EQ(launch.relocations[0].addend, -2048);
    EXPECT_TRUE(launch.relocations[0].outside);
  }
}

// Nobody can read the last contents of freed memory, so the trace lacks nothing.
TEST_F(RecorderGraphTest, FreedMemoryOfGraphsIsGone) {
  const uint64_t address = reinterpret_cast<uint64_t>(data_);
  enum class Call { kNone, kRefused, kFree };
  const auto gone_after = [&](const std::vector<bool>& launched_frees, Call call) {
    std::filesystem::remove(path());
    make({});
    recorder_->buffers().graph_memory(address, sizeof(data_));
    for (const bool frees : {false, true}) {
      recorder_->graphs().graph_created(handle(30 + frees));
      add_node(handle(30 + frees), handle(1 + frees), RawGraphMemory{address, frees});
      recorder_->executables().instantiated(handle(40 + frees), handle(30 + frees));
    }
    for (const bool frees : launched_frees) launch(handle(40 + frees), nullptr);
    if (call != Call::kNone) {
      recorder_->buffers().freed(recorder_->buffers().freeing(address, nullptr, true),
                                 call == Call::kFree);
    }
    const auto trace = finish();
    const auto ends = actions<format::AllocationEnd>(*trace);
    EXPECT_THAT(ends, SizeIs(1));
    EXPECT_FALSE(ends[0].freed);
    EXPECT_NE(ends[0].gone, ends[0].post.stored);
    return ends[0].gone;
  };
  EXPECT_TRUE(gone_after({}, Call::kNone));
  EXPECT_FALSE(gone_after({false}, Call::kNone));
  EXPECT_TRUE(gone_after({false, true}, Call::kNone));
  EXPECT_FALSE(gone_after({false, true, false}, Call::kNone));
  EXPECT_TRUE(gone_after({false}, Call::kFree));
  EXPECT_FALSE(gone_after({false}, Call::kRefused));
}

// HIP may refuse a launch: it has freed nothing then.
TEST_F(RecorderGraphTest, RefusedLaunchesFreeNothing) {
  const uint64_t address = reinterpret_cast<uint64_t>(data_);
  recorder_->buffers().graph_memory(address, sizeof(data_));
  for (const bool frees : {false, true}) {
    recorder_->graphs().graph_created(handle(30 + frees));
    add_node(handle(30 + frees), handle(1 + frees), RawGraphMemory{address, frees});
    recorder_->executables().instantiated(handle(40 + frees), handle(30 + frees));
  }
  launch(handle(40), nullptr);
  Work refused;
  recorder_->work().prepare_graph_launch(handle(41), nullptr, refused);
  const auto ends = actions<format::AllocationEnd>(*finish());
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_TRUE(ends[0].post.stored);
}

}  // namespace
}  // namespace gfxgraph::recorder
