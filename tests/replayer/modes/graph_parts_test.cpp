// What becomes one graph, and what is one graph that is launched again.
#include "replayer/modes/graph_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "replay_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::ElementsAre;

class GraphPartsTest : public ReplayTest {
 protected:
  GraphPartsTest() {
    a = trace.allocate_words({1, 2, 3, 4});
    b = trace.allocate(64);
    trace.stream(1, 1);  // does not wait for the null stream
  }
  // double a; b = a; double b
  format::Graph graph() {
    format::Graph result;
    result.nodes.push_back({make_double(a), {}});
    result.nodes.push_back({trace.make_copy(b, a, 16), {0}});
    result.nodes.push_back({make_double(b), {1}});
    return result;
  }
  format::Launch make_double(format::AllocationId id) {
    return trace.make_launch("double", Arguments().value(trace.address(id)).value(4u));
  }
  void launch_fill(uint32_t value, format::StreamId stream = 0) {
    trace.launch("fill", Arguments().value(trace.address(b) + 16).value(value).value(1u), stream);
  }
  std::unique_ptr<Step> load_graph(uint32_t max_nodes = 0) {
    LoadOptions options;
    options.mode = Mode::kGraph;
    options.graph_max_nodes = max_nodes;
    options.values_change = false;
    fake.log.clear();
    return load(fake, trace.program(), options);
  }
  long logged(const char* what) { return std::ranges::count(fake.log, what); }

  format::AllocationId a = 0, b = 0;
};

TEST_F(GraphPartsTest, AGraphThatIsLaunchedAgainIsPreparedOnce) {
  const format::GraphId id = trace.graph_launch(graph());
  for (uint32_t i = 0; i < 4; ++i) {
    launch_fill(i);
    trace.graph_launch(graph(), 0, id);
  }
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  const GraphStatistics statistics = step->graph_statistics();
  EXPECT_EQ(statistics.graphs, 1u);
  EXPECT_EQ(statistics.nodes, 3u);
  EXPECT_EQ(statistics.launches, 5u);
  EXPECT_TRUE(statistics.outside.empty());
  EXPECT_EQ(logged("instantiate"), 1);
  fake.log.clear();
  expect_identical(*step);
  EXPECT_EQ(logged("graph launch"), 5);
  EXPECT_EQ(logged("launch"), 4) << "what stands alone between them";
  ASSERT_TRUE(step->restore());
  expect_identical(*step);
}

// It is not the same graph any more where its nodes have changed.
TEST_F(GraphPartsTest, AChangedGraphIsAnotherOne) {
  const format::GraphId id = trace.graph_launch(graph());
  trace.graph_launch(graph(), 0, id);
  format::Graph changed = graph();
  changed.nodes[2].action = make_double(a);
  const format::GraphId other = trace.graph_launch(changed);
  trace.graph_launch(changed, 0, other);
  trace.graph_launch(graph(), 0, id);
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->graph_statistics().graphs, 2u);
  EXPECT_EQ(step->graph_statistics().launches, 5u);
  expect_identical(*step);
}

// A value that is set in one launch of it must not reach the others.
TEST_F(GraphPartsTest, AValueThatIsSetInOneLaunchStaysThere) {
  const format::GraphId id = trace.graph_launch(graph());
  for (int i = 0; i < 2; ++i) trace.graph_launch(graph(), 0, id);
  const auto program = trace.program();
  for (const bool trial : {false, true}) {
    LoadOptions options;
    options.mode = Mode::kGraph;
    options.values_change = trial;
    const auto step = load(fake, program, options);
    ASSERT_NE(step, nullptr);
    ASSERT_EQ(step->graph_statistics().graphs, 1u);
    uint32_t words = 2;  // of the four that the first node of the second launch doubles
    for (uint32_t round = 0; round < 3; ++round, --words) {
      ASSERT_TRUE(step->restore());
      ASSERT_TRUE(step->values().set_kernarg(2, 8, std::as_bytes(std::span(&words, 1))));
      ASSERT_TRUE(step->run());
      ASSERT_TRUE(step->wait());
      std::vector<uint32_t> got(4);
      ASSERT_TRUE(step->instance().memory().read(a, 0, std::as_writable_bytes(std::span(got))));
      for (uint32_t i = 0; i < 4; ++i) {
        uint32_t expected = i + 1;
        for (uint32_t n = 0; n < 3; ++n)
          expected = n == 1 && i >= words ? expected : 2 * expected + 1;
        EXPECT_EQ(got[i], expected) << i << " of " << words;
      }
    }
    EXPECT_EQ(step->graph_statistics().graphs, 2u) << "the first and the third are still one";
    EXPECT_EQ(step->graph_statistics().nodes_updated, trial ? 2u : 0u);
  }
}

// Work of another stream stays a branch beside it.
TEST_F(GraphPartsTest, IndependentStreamsStayBranches) {
  const format::GraphId id = trace.graph_launch(graph());
  launch_fill(5, 1);
  trace.graph_launch(graph(), 0, id);
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  const GraphStatistics statistics = step->graph_statistics();
  EXPECT_EQ(statistics.graphs, 1u);
  EXPECT_EQ(statistics.launches, 1u);
  EXPECT_EQ(statistics.nodes, 7u);
  EXPECT_EQ(statistics.edges, 5u) << "none to or from the other stream";
  expect_identical(*step);
}

// Nodes for host copies would differ in the place that the bytes come from or go to.
TEST_F(GraphPartsTest, HostCopiesAreNodesOnMemoryOfTheLibrary) {
  static std::vector<std::pair<const void*, const void*>> ends;
  ends.clear();
  trace.copy_to_device(a, std::vector<uint8_t>(16, 7));
  trace.launch("double", Arguments().value(trace.address(a)).value(4u));
  trace.copy_to_host(a);
  HipTable table = fake.table();
  static decltype(table.hipGraphAddMemcpyNode1D) original;
  original = table.hipGraphAddMemcpyNode1D;
  table.hipGraphAddMemcpyNode1D = [](void** node, void* graph, void* const* dependencies,
                                     size_t count, void* to, const void* from, size_t size,
                                     int kind) {
    ends.emplace_back(from, to);
    return original(node, graph, dependencies, count, to, from, size, kind);
  };
  LoadOptions options;
  options.mode = Mode::kGraph;
  options.values_change = false;
  auto step = Step::load(trace.program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_EQ(ends.size(), 2u);
  for (const auto& [from, to] : ends) {
    EXPECT_TRUE(fake.is_device_memory(from, 16));
    EXPECT_TRUE(fake.is_device_memory(to, 16));
  }
  fake.log.clear();
  expect_identical(**step);
  EXPECT_EQ(logged("graph launch"), 1);
  EXPECT_EQ(logged("copy"), 2) << "the comparison reads the buffer, and memory was restored";
}

// Too many operations for one graph, and a loop among them: as many graphs as differ.
TEST_F(GraphPartsTest, LoopsThatAreLongerThanAGraphShareOne) {
  launch_fill(1);
  for (uint32_t i = 0; i < 50; ++i) {
    trace.launch("double", Arguments().value(trace.address(a)).value(4u));
    trace.copy(trace.make_copy(b, a, 16));
    trace.launch("double", Arguments().value(trace.address(b)).value(4u));
  }
  launch_fill(2);
  const auto step = load_graph(10);
  ASSERT_NE(step, nullptr);
  const GraphStatistics statistics = step->graph_statistics();
  // One, sixteen of three iterations each, one with the two that are left and the last launch.
  EXPECT_EQ(statistics.launches, 18u);
  EXPECT_EQ(statistics.graphs, 3u);
  EXPECT_EQ(statistics.nodes, 1u + 9 + 7);
  expect_identical(*step);
}

// Against the definition.
TEST(Joints, AreWhereEverythingWaitsForEverything) {
  std::mt19937 random(7);
  size_t found = 0, none = 0;
  for (int round = 0; round < 500; ++round) {
    const auto size = static_cast<uint32_t>(1 + random() % 14);
    const auto first = static_cast<uint32_t>(random() % 3);
    Dag dag;
    std::vector<std::vector<bool>> reaches(size, std::vector<bool>(size));
    for (uint32_t i = 0; i < size; ++i) {
      std::vector<uint32_t> wanted;
      for (uint32_t before = 0; before < i; ++before) {
        if (random() % 4 == 0 || (before + 1 == i && random() % 2 == 0)) wanted.push_back(before);
      }
      std::vector<uint32_t> reduced;
      for (const uint32_t one : wanted) {
        const bool implied = std::ranges::any_of(
            wanted, [&](uint32_t other) { return other != one && reaches[other][one]; });
        if (!implied) reduced.push_back(one);
        reaches[i][one] = true;
        for (uint32_t k = 0; k < size; ++k) reaches[i][k] = reaches[i][k] || reaches[one][k];
      }
      dag.dependencies.push_back(reduced);
    }
    if (first >= size) continue;
    const std::vector<bool> joints = find_joints(dag, first, size);
    ASSERT_EQ(joints.size(), size - first + 1);
    // Paths through what stands before `first` do not count: it is done by then.
    std::vector<std::vector<bool>> inside(size, std::vector<bool>(size));
    for (uint32_t i = first; i < size; ++i) {
      for (const uint32_t one : dag.dependencies[i]) {
        if (one < first) continue;
        inside[i][one] = true;
        for (uint32_t k = 0; k < size; ++k) inside[i][k] = inside[i][k] || inside[one][k];
      }
    }
    for (uint32_t place = first; place <= size; ++place) {
      bool all = true;
      for (uint32_t before = first; before < place; ++before) {
        for (uint32_t i = place; i < size; ++i) all = all && inside[i][before];
      }
      EXPECT_EQ(joints[place - first], all) << "round " << round << " place " << place;
      (all ? found : none) += 1;
    }
  }
  EXPECT_GT(found, 100u);
  EXPECT_GT(none, 100u);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
