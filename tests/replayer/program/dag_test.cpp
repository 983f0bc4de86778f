#include "replayer/program/dag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/reachability.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DagTest : public ::testing::Test {
 protected:
  DagTest() : trace(with_kernels(fake)) { buffer = trace.allocate(64); }
  static FakeHip& with_kernels(FakeHip& fake) {
    add_test_kernels(fake);
    return fake;
  }
  void launch(format::StreamId stream) {
    trace.launch("double", Arguments().value(trace.address(buffer)).value(16u), stream);
  }
  Dag dag() { return build_dag(*trace.program()); }

  FakeHip fake;
  TestTrace trace;
  format::AllocationId buffer = 0;
};

TEST_F(DagTest, StreamKeepsItsOrder) {
  trace.stream(1);
  for (int i = 0; i < 3; ++i) launch(1);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1)));
}

TEST_F(DagTest, StreamsAreIndependent) {
  trace.stream(1);
  trace.stream(2);
  launch(1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST_F(DagTest, NullStreamWaitsForBlockingStreamsAndTheyForIt) {
  trace.stream(1);
  trace.stream(2);
  launch(1);
  launch(2);
  launch(0);
  launch(1);
  launch(2);
  EXPECT_THAT(dag().dependencies,
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(2), ElementsAre(2)));
}

TEST_F(DagTest, NullStreamLeavesNonBlockingStreamsAlone) {
  trace.stream(1, 1);
  launch(1);
  launch(0);
  launch(1);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0)));
}

TEST_F(DagTest, WaitFollowsWhatTheEventCaptured) {
  trace.stream(1);
  trace.stream(2);
  trace.event(1);
  launch(1);
  trace.record(1, 1);
  launch(1);
  trace.wait(2, 1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0)));
}

TEST_F(DagTest, WhatTheHostLearnedFromAHostFunctionIsWhatStoodBeforeIt) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  launch(1);
  trace.host_function(1, 1);
  launch(1);
  launch(2);
  trace.ran(1);
  launch(2);
  EXPECT_THAT(dag().dependencies,
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(0, 2)));
}

TEST_F(DagTest, WorkThatFollowsAKernelWhichTheHostCanPollFollowsIt) {
  const format::AllocationId pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  trace.stream(1, 1);
  trace.stream(2, 1);
  launch(1);
  launch(2);
  trace.launch("double", Arguments().value(trace.address(pinned)).value(16u), 1);
  launch(2);
  EXPECT_THAT(dag().dependencies,
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(DagTest, WorkThatFollowsAValueWhichTheHostCanPollFollowsIt) {
  const format::AllocationId pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  for (format::StreamId id = 1; id <= 3; ++id) trace.stream(id, 1);
  format::Memset set;
  set.element_bytes = 4;
  set.width_elements = 1;
  set.asynchronous = true;
  set.stream = 1;
  set.allocation = buffer;
  trace.memset(set);  // nobody polls it
  launch(2);
  set.allocation = pinned;
  trace.memset(set);
  launch(2);
  trace.copy_to_device(pinned, {1, 2, 3, 4, 5, 6, 7, 8}, 1, true);
  launch(3);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0),
                                              ElementsAre(1, 2), ElementsAre(2), ElementsAre(4)));
}

TEST_F(DagTest, WaitOnEventThatWasNeverRecordedDoesNothing) {
  trace.stream(1);
  trace.stream(2);
  trace.event(1);
  launch(1);
  trace.wait(2, 1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST_F(DagTest, LaterRecordReplacesTheEarlierOne) {
  trace.stream(1);
  trace.stream(2);
  trace.stream(3);
  trace.event(1);
  launch(1);
  trace.record(1, 1);
  launch(2);
  trace.record(1, 2);
  trace.wait(3, 1);
  launch(3);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1)));
}

TEST_F(DagTest, EventPassesOnWhatItsStreamHadWaitedFor) {
  for (format::StreamId id = 1; id <= 3; ++id) trace.stream(id);
  trace.event(1);
  trace.event(2);
  launch(1);
  trace.record(1, 1);
  trace.wait(2, 1);  // stream 2 has no work of its own
  trace.record(2, 2);
  trace.wait(3, 2);
  launch(3);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST_F(DagTest, RecordOnNullStreamIsWorkForBlockingStreams) {
  trace.stream(1);
  trace.stream(2);
  trace.event(1);
  launch(1);
  trace.record(1, 0);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST_F(DagTest, HostFunctionOnNullStreamIsWorkForBlockingStreams) {
  trace.stream(1);
  trace.stream(2);
  launch(1);
  trace.host_function(0, 1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST_F(DagTest, DeviceSynchronisationOrdersEverythingAfterIt) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  launch(1);
  launch(2);
  trace.synchronize_device();
  launch(1);
  launch(2);
  EXPECT_THAT(dag().dependencies,
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(0, 1)));
}

TEST_F(DagTest, StreamSynchronisationOrdersOtherStreams) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  launch(1);
  trace.synchronize_stream(1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0)));
}

// What the null stream was given since is not known to be done, unless the stream follows it.
TEST_F(DagTest, AStreamsOwnEndLeavesTheNullStreamAlone) {
  trace.stream(1, 0);
  trace.stream(2, 1);
  launch(1);
  launch(0);
  trace.synchronize_stream_itself(1);
  launch(2);
  launch(1);
  trace.synchronize_stream_itself(1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0),
                                              ElementsAre(1), ElementsAre(2, 3)));
}

TEST_F(DagTest, EventSynchronisationOrdersOtherStreams) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  trace.event(1);
  launch(1);
  trace.record(1, 1);
  launch(1);
  trace.synchronize_event(1);
  launch(2);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0)));
}

TEST_F(DagTest, BlockingCopyOrdersOtherStreams) {
  trace.stream(1, 1);
  trace.copy_to_host(buffer);
  launch(1);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST_F(DagTest, ManySynchronisationsDoNotPileUpEdges) {
  trace.stream(1, 1);
  trace.stream(2, 1);
  for (int i = 0; i < 200; ++i) {
    launch(1);
    trace.synchronize_stream(1);
    launch(2);
    trace.synchronize_stream(2);
  }
  const Dag built = dag();
  EXPECT_EQ(built.edges, 399u);  // a chain
}

TEST_F(DagTest, GraphKeepsItsOwnEdgesAndItsPlaceInTheStream) {
  trace.stream(1);
  launch(1);
  format::Graph graph;
  const Arguments arguments = Arguments().value(trace.address(buffer)).value(16u);
  const format::Launch node = trace.make_launch("double", arguments);
  graph.nodes.push_back({node, {}});               // operation 1
  graph.nodes.push_back({node, {0}});              // 2
  graph.nodes.push_back({std::monostate{}, {0}});  // passes on
  graph.nodes.push_back({node, {2}});              // 3, follows 1
  trace.graph_launch(graph, 1);
  launch(1);
  EXPECT_THAT(dag().dependencies, ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1),
                                              ElementsAre(1), ElementsAre(2, 3)));
}

TEST_F(DagTest, HostWriteSplitsSegments) {
  const format::AllocationId pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  launch(0);
  trace.host_write(pinned, 0, {1, 2, 3});
  trace.host_write(pinned, 8, {1});
  launch(0);
  const std::shared_ptr<const Program> program = trace.program();
  ASSERT_EQ(program->segments().size(), 2u);
  EXPECT_EQ(program->segments()[0].operation_count, 1u);
  EXPECT_EQ(program->segments()[1].host.writes, 2u);
  EXPECT_EQ(program->segments()[1].first_operation, 1u);
}

TEST(ReachabilityTest, ReductionKeepsTheClosure) {
  std::mt19937 random(7);
  constexpr uint32_t kOperations = 200;
  Reachability reach;
  std::vector<std::vector<bool>> closure(kOperations, std::vector<bool>(kOperations, false));
  for (uint32_t i = 0; i < kOperations; ++i) {
    std::vector<uint32_t> asked;
    for (uint32_t d = 0; i > 0 && d < random() % 4; ++d)
      asked.push_back(static_cast<uint32_t>(random()) % i);
    std::vector<uint32_t> reduced = asked;
    reach.add(reduced);
    closure[i][i] = true;
    for (const uint32_t d : reduced) {
      for (uint32_t k = 0; k < i; ++k) closure[i][k] = closure[i][k] || closure[d][k];
    }
    for (const uint32_t d : asked) EXPECT_TRUE(closure[i][d]) << d << " -> " << i;
    for (uint32_t k = 0; k <= i; ++k)
      EXPECT_EQ(reach.reaches(k, i), closure[i][k]) << k << " -> " << i;
    // Reduced: no dependency is implied by another.
    for (const uint32_t a : reduced) {
      for (const uint32_t b : reduced) EXPECT_TRUE(a == b || !closure[b][a]);
    }
  }
}

TEST(ReachabilityTest, WiderThanItsLanesStaysCorrect) {
  Reachability reach;
  for (uint32_t i = 0; i < 1000; ++i) {
    std::vector<uint32_t> none;
    reach.add(none);
  }
  EXPECT_LE(reach.lanes(), Reachability::kMaxLanes);
  std::vector<uint32_t> all(1000);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  reach.add(all);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_TRUE(reach.reaches(i, 1000));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
