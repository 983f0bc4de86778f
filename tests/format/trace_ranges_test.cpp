#include "format/ranges/trace_ranges.h"

#include <gtest/gtest.h>

#include "tests/format/fake_trace.h"

namespace gfxgraph::ranges {
namespace {

using format::MarkerKind;

class TraceRanges : public ::testing::Test {
 protected:
  void begin(const char* name, format::RangeId id, uint32_t thread = 0) {
    trace_.add(format::Marker{name, MarkerKind::kRangeBegin, id, ordinals_[name]++}, thread);
  }
  void end(const char* name, format::RangeId id, uint32_t thread = 0) {
    trace_.add(format::Marker{name, MarkerKind::kRangeEnd, id}, thread);
  }
  void launch(format::KernelId kernel, uint32_t grid = 1, uint32_t thread = 0) {
    format::Launch launch;
    launch.kernel = kernel;
    launch.grid = {grid, 1, 1};
    launch.block = {64, 1, 1};
    launch.kernarg = {static_cast<uint8_t>(trace_.events_.size())};  // differs each time
    trace_.add(launch, thread);
  }

  format::testing::FakeTrace trace_;
  std::map<std::string, uint32_t> ordinals_;
};

TEST_F(TraceRanges, NoneInATraceWithoutMarkers) {
  launch(1);
  trace_.add(format::Marker{"a mark is no range"});
  EXPECT_TRUE(summarize_ranges(trace_).empty());
}

TEST_F(TraceRanges, CountWhatStandsBetweenOnAllThreads) {
  launch(1);
  begin("decode", 1, 2);
  launch(1);
  launch(2, 1, 5);
  format::Copy copy;
  copy.width_bytes = 10;
  copy.height = 2;
  trace_.add(copy);
  trace_.add(format::Memset{});
  trace_.add(format::Synchronize{});
  end("decode", 1, 2);
  launch(1);
  const auto ranges = summarize_ranges(trace_);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].name, "decode");
  EXPECT_EQ(ranges[0].ordinal, 0u);
  EXPECT_EQ(ranges[0].thread, 2u);
  EXPECT_EQ(ranges[0].first_event, 1u);
  EXPECT_EQ(ranges[0].end_event, 7u);
  EXPECT_TRUE(ranges[0].ended);
  EXPECT_EQ(ranges[0].launches, 2u);
  EXPECT_EQ(ranges[0].copies, 1u);
  EXPECT_EQ(ranges[0].copy_bytes, 20u);
  EXPECT_EQ(ranges[0].memsets, 1u);
  EXPECT_EQ(ranges[0].synchronizations, 1u);
  EXPECT_EQ(ranges[0].span_ns, 60u);
}

TEST_F(TraceRanges, RangesOfOneNameMayOverlap) {
  begin("a", 1);
  begin("b", 2);
  begin("a", 3);
  end("a", 1);  // they overlap
  launch(1);
  end("a", 3);
  end("b", 2);
  begin("a", 4);
  const auto ranges = summarize_ranges(trace_);
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].ordinal, 0u);
  EXPECT_EQ(ranges[1].name, "b");
  EXPECT_EQ(ranges[2].ordinal, 1u);
  EXPECT_EQ(ranges[3].ordinal, 2u);
  EXPECT_EQ(ranges[0].launches, 0u);
  EXPECT_EQ(ranges[1].launches, 1u);
  EXPECT_EQ(ranges[2].launches, 1u);
  EXPECT_FALSE(ranges[3].ended);
  EXPECT_EQ(ranges[3].end_event, trace_.events_.size());
}

TEST_F(TraceRanges, EqualWorkHasOneShapeWhereverItStands) {
  const auto step = [&](format::RangeId id, uint32_t grid) {
    begin("step", id);
    launch(1, grid);
    trace_.add(format::HostWrite{});  // not work of the device
    launch(2);
    end("step", id);
  };
  launch(3);
  step(1, 4);
  step(2, 4);
  launch(3);
  step(3, 5);  // another grid
  begin("step", 4);
  launch(1, 4);
  end("step", 4);
  const auto ranges = summarize_ranges(trace_);
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].shape, ranges[1].shape);
  EXPECT_EQ(ranges[0].shape, ranges[2].shape);
  EXPECT_NE(ranges[0].shape, ranges[3].shape) << "a launch less";
}

TEST_F(TraceRanges, TheOrderOfWorkIsPartOfItsShape) {
  begin("step", 1);
  launch(1);
  launch(2);
  end("step", 1);
  begin("step", 2);
  launch(2);
  launch(1);
  end("step", 2);
  const auto ranges = summarize_ranges(trace_);
  EXPECT_NE(ranges[0].shape, ranges[1].shape);
}

// The same nodes in two graphs, as a recorder writes them when arguments changed.
TEST_F(TraceRanges, GraphLaunchesCountTheirNodes) {
  for (format::GraphId id : {1u, 2u}) {
    format::Graph graph;
    graph.id = id;
    format::Launch launch;
    launch.kernel = 7;
    launch.kernarg = {static_cast<uint8_t>(id)};
    graph.nodes = {{launch, {}}, {format::Memset{}, {0}}};
    trace_.graphs_.push_back(graph);
    begin("step", id);
    trace_.add(format::GraphLaunch{id, 0, 0});
    end("step", id);
  }
  const auto ranges = summarize_ranges(trace_);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].graph_launches, 1u);
  EXPECT_EQ(ranges[0].launches, 1u);
  EXPECT_EQ(ranges[0].memsets, 1u);
  EXPECT_EQ(ranges[0].shape, ranges[1].shape);
}

}  // namespace
}  // namespace gfxgraph::ranges
