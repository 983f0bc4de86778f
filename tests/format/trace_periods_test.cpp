#include "format/ranges/trace_periods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/format/fake_trace.h"

namespace gfxgraph::ranges {
namespace {

class TracePeriods : public ::testing::Test {
 protected:
  void launch(format::KernelId kernel, format::StreamId stream = 0) {
    format::Launch launch;
    launch.kernel = kernel;
    launch.stream = stream;
    trace_.add(launch);
  }
  void copy_out() {
    format::Copy copy;
    copy.source.allocation = 1;
    copy.width_bytes = 4;
    trace_.add(copy);
  }
  void launches(std::initializer_list<format::KernelId> kernels) {
    for (const format::KernelId kernel : kernels) launch(kernel);
  }

  format::testing::FakeTrace trace_;
};

TEST_F(TracePeriods, NoneInShortOrEmptyTraces) {
  EXPECT_TRUE(find_periods(trace_).empty());
  launches({1, 2, 1, 2});
  EXPECT_TRUE(find_periods(trace_).empty()) << "two times are no period";
}

TEST_F(TracePeriods, BetweenPrologueAndEpilogue) {
  trace_.add(format::AllocationBegin{});
  launches({9, 8});
  for (int i = 0; i < 4; ++i) {
    trace_.add(format::HostWrite{});
    launches({1, 2, 3});
    trace_.add(format::Memset{});
  }
  launches({7});
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  const Period& period = periods[0];
  EXPECT_EQ(period.repeats, 4u);
  EXPECT_EQ(period.works, 4u);
  EXPECT_EQ(period.launches, 3u);
  EXPECT_EQ(period.first_launch, 2u);
  EXPECT_EQ(period.last_launch, 13u);
  EXPECT_EQ(period.first_event, 4u);
  EXPECT_EQ(period.last_event, 22u);
  ASSERT_EQ(period.iterations.size(), 4u);
  EXPECT_EQ(period.iterations[0].first_event, 3u) << "with what the host wrote before it";
  EXPECT_EQ(period.iterations[0].end_event, 8u);
  EXPECT_EQ(period.iterations[3].end_event, 23u);
}

TEST_F(TracePeriods, TheStepAndNotItsLayers) {
  for (int step = 0; step < 5; ++step) {
    launch(1);
    for (int layer = 0; layer < 6; ++layer) launches({2, 3});
    launch(4);
  }
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].launches, 14u);
  EXPECT_EQ(periods[0].repeats, 5u);
}

// The prologue ends as each step does, as after a prompt; only the wait tells where a step begins.
TEST_F(TracePeriods, BeginsAfterAWait) {
  launches({9, 2, 3});
  copy_out();
  for (int step = 0; step < 4; ++step) {
    launches({1, 2, 3});
    copy_out();
  }
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].first_launch, 3u);
  EXPECT_EQ(periods[0].repeats, 4u);
  EXPECT_EQ(periods[0].works, 4u);
}

TEST_F(TracePeriods, StreamsAndArguments) {
  for (uint32_t i = 0; i < 6; ++i) launch(1, i % 2);
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].launches, 2u);
}

TEST_F(TracePeriods, CopiesAloneAreNone) {
  for (int i = 0; i < 6; ++i) copy_out();
  EXPECT_TRUE(find_periods(trace_).empty());
}

// gfxgraph-record --launches counts these.
TEST_F(TracePeriods, KernelsOfGraphsAreNumbered) {
  format::Graph graph;
  graph.id = 1;
  graph.nodes.resize(3);
  graph.nodes[0].action = format::Launch{};
  graph.nodes[1].action = format::Copy{};
  graph.nodes[2].action = format::Launch{};
  trace_.graphs_.push_back(graph);
  format::GraphLaunch launched;
  launched.graph = 1;
  trace_.add(launched);
  launches({8, 9});
  for (int step = 0; step < 3; ++step) {
    launch(1);
    trace_.add(launched);
    copy_out();
  }
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].first_launch, 3u);
  EXPECT_EQ(periods[0].launches, 2u);
  EXPECT_EQ(periods[0].first_kernel, 4u);
  EXPECT_EQ(periods[0].kernels, 3u);
}

TEST_F(TracePeriods, SeveralBesideEachOther) {
  for (int i = 0; i < 20; ++i) launches({1, 2});
  launch(3);
  for (int i = 0; i < 10; ++i) launches({4, 5, 6});
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 2u);
  EXPECT_EQ(periods[0].launches, 2u);
  EXPECT_EQ(periods[1].launches, 3u);
  EXPECT_EQ(periods[1].first_launch, 41u);
}

TEST_F(TracePeriods, NotWhereRangesAre) {
  for (uint32_t i = 0; i < 6; ++i) {
    trace_.add(format::Marker{"step", format::MarkerKind::kRangeBegin, i + 1, i});
    launches({1, 2, 3});
    trace_.add(format::Marker{"step", format::MarkerKind::kRangeEnd, i + 1});
  }
  EXPECT_TRUE(find_periods(trace_).empty());
  for (int i = 0; i < 3; ++i) launches({1, 2});
  EXPECT_EQ(find_periods(trace_).size(), 1u);
}

TEST_F(TracePeriods, GraphLaunchesRepeat) {
  for (format::GraphId id : {1u, 2u, 3u}) {
    format::Graph graph;
    graph.id = id;
    format::Launch launch;
    launch.kernel = 7;
    launch.kernarg = {static_cast<uint8_t>(id)};
    graph.nodes = {{launch, {}}, {format::Memset{}, {0}}};
    trace_.graphs_.push_back(graph);
    trace_.add(format::GraphLaunch{id, 0, 0});
  }
  const auto periods = find_periods(trace_);
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].repeats, 3u);
}

// Whatever stands before and behind, the body is found, whole.
TEST_F(TracePeriods, RandomBodiesAreFound) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    trace_.events_.clear();
    const auto draw = [&](size_t count, uint32_t first) {
      std::vector<format::KernelId> kernels(count);
      for (auto& kernel : kernels) kernel = static_cast<uint32_t>(first + random() % 4);
      return kernels;
    };
    const auto issue = [&](const std::vector<format::KernelId>& kernels) {
      for (const format::KernelId kernel : kernels) launch(kernel);
    };
    // The same kernels as in the body, but one that is in no body, so that nothing covers more.
    auto prologue = draw(random() % 20, 1), epilogue = draw(random() % 20, 1);
    prologue.push_back(100);
    epilogue.insert(epilogue.begin(), 101);
    auto body = draw(1 + random() % 30, 1);
    body[random() % body.size()] = 50;  // so it repeats nothing itself
    const size_t times = 3 + random() % 20;
    issue(prologue);
    for (size_t i = 0; i < times; ++i) issue(body);
    issue(epilogue);
    const auto periods = find_periods(trace_);
    const auto found = std::ranges::find_if(periods, [&](const Period& period) {
      return period.launches == body.size() && period.repeats == times &&
             period.first_launch == prologue.size() &&
             period.last_launch == prologue.size() + times * body.size() - 1;
    });
    ASSERT_NE(found, periods.end()) << "round " << round << ", body of " << body.size() << " x "
                                    << times << ", found " << periods.size();
  }
}

}  // namespace
}  // namespace gfxgraph::ranges
