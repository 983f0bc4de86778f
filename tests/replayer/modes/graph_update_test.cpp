// Changed values in graph mode: set in the executable graph where the runtime does that, built
// again where it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "replay_fixture.h"
#include "tests/support/allocations.h"

namespace gfxgraph::replayer::testing {
namespace {

using NodeKind = FakeHip::NodeKind;
using ranges::PlaceKind;
using ::testing::ElementsAre;

// Operation 0 a launch, 1 a copy, 2 a memset, 3 a launch.
class GraphUpdateTest : public ReplayTest {
 protected:
  GraphUpdateTest() {
    a = trace.allocate(64);
    b = trace.allocate_words(words());
    trace.launch("fill", Arguments().value(trace.address(a)).value(7u).value(2u));
    trace.copy(trace.make_copy(a, b, 8));
    format::Memset memset;
    memset.allocation = a;
    memset.offset_bytes = 48;
    memset.element_bytes = 4;
    memset.value = 5;
    memset.width_elements = 2;
    trace.memset(memset);
    trace.launch("fill", Arguments().value(trace.address(a) + 32).value(9u).value(2u));
  }

  static std::vector<uint32_t> words() {
    std::vector<uint32_t> words(16);
    for (uint32_t i = 0; i < 16; ++i) words[i] = 100 + i;
    return words;
  }

  const std::shared_ptr<const Program>& program() {
    if (!program_) program_ = trace.program();
    return program_;
  }

  std::unique_ptr<Step> load_graph(uint32_t max_nodes = 0) {
    LoadOptions options;
    options.mode = Mode::kGraph;
    options.graph_max_nodes = max_nodes;
    auto step = load(fake, program(), options);
    fake.log.clear();
    return step;
  }

  void set(Step& step, uint32_t operation, PlaceKind kind, PlaceValue value, uint32_t offset = 0,
           uint32_t size = 4) {
    const auto done = step.values().set_place(PlaceTarget{operation, kind, offset, size}, value);
    ASSERT_TRUE(done) << done.error().message;
  }

  // One value of each kind of operation, and what they leave in `a`.
  void set_all(Step& step) {
    set(step, 0, PlaceKind::kArgument, {0, 70}, 8);
    set(step, 1, PlaceKind::kSource, {b, 16});
    set(step, 1, PlaceKind::kDestination, {a, 8});
    set(step, 2, PlaceKind::kMemsetValue, {0, 50});
    set(step, 3, PlaceKind::kArgument, {a, 40}, 0, 8);
  }
  static constexpr uint32_t kUnset = 0x5a5a5a5a;
  std::vector<uint32_t> expected() const {
    std::vector<uint32_t> words(16, kUnset);
    words[0] = words[1] = 70;
    words[2] = 104, words[3] = 105;
    words[10] = words[11] = 9;
    words[12] = words[13] = 50;
    return words;
  }

  std::vector<uint32_t> run(Step& step) {
    EXPECT_TRUE(step.restore());
    const auto ran = step.run();
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(step.wait());
    std::vector<uint32_t> result(16);
    EXPECT_TRUE(step.instance().memory().read(a, 0, std::as_writable_bytes(std::span(result))));
    return result;
  }

  long logged(const char* what) const {
    return std::count(fake.log.begin(), fake.log.end(), std::string(what));
  }

  format::AllocationId a = 0;
  format::AllocationId b = 0;

 private:
  std::shared_ptr<const Program> program_;
};

// Another step of the session may run on another thread meanwhile.
TEST_F(GraphUpdateTest, BuildingAgainWaitsForItsOwnRunsOnly) {
  fake.refuse_updates = NodeKind::kKernel;
  SessionOptions options;
  auto session = Session::load(program(), fake.library(), options);
  ASSERT_TRUE(session) << session.error().message;
  StepOptions graph;
  graph.mode = Mode::kGraph;
  auto first = Step::prepare(*session, program(), graph);
  auto second = Step::prepare(*session, program(), graph);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE((*second)->run());
  ASSERT_TRUE((*second)->wait());
  ASSERT_TRUE((*first)->run());
  fake.log.clear();
  set(**first, 0, PlaceKind::kArgument, {0, 70}, 8);
  ASSERT_TRUE((*first)->run());
  EXPECT_EQ((*first)->graph_statistics().graphs_rebuilt, 1u);
  EXPECT_EQ(std::ranges::count(fake.log, "stream sync"), 1);
}

TEST_F(GraphUpdateTest, ValuesAreSetInTheNodesThatHaveThem) {
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  set_all(*step);
  fake.log.clear();
  EXPECT_EQ(run(*step), expected());
  EXPECT_EQ(logged("instantiate"), 0);
  EXPECT_EQ(logged("kernel update"), 2);
  EXPECT_EQ(logged("copy update"), 1);
  EXPECT_EQ(logged("memset update"), 1);
  EXPECT_EQ(step->graph_statistics().nodes_updated, 4u);
}

TEST_F(GraphUpdateTest, OnlyWhatDiffersIsUpdatedOnceAndInOrder) {
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  set(*step, 3, PlaceKind::kArgument, {0, 9}, 8);  // as it is
  set(*step, 1, PlaceKind::kSource, {b, 8});
  set(*step, 0, PlaceKind::kArgument, {0, 1}, 8);
  set(*step, 0, PlaceKind::kArgument, {0, 2}, 8);
  ASSERT_TRUE(step->run());
  EXPECT_THAT(fake.log, ElementsAre("copy update", "kernel update", "graph launch"));
  fake.log.clear();
  ASSERT_TRUE(step->run());
  EXPECT_THAT(fake.log, ElementsAre("graph launch"));
}

TEST_F(GraphUpdateTest, TheGraphWithTheNodeIsUpdated) {
  for (const uint32_t max_nodes : {1u, 2u, 3u}) {
    const auto step = load_graph(max_nodes);
    ASSERT_NE(step, nullptr);
    set_all(*step);
    EXPECT_EQ(run(*step), expected()) << max_nodes;
    EXPECT_EQ(logged("instantiate"), 0);
  }
}

class NoUpdates : public GraphUpdateTest,
                  public ::testing::WithParamInterface<std::tuple<NodeKind, bool>> {};

TEST_P(NoUpdates, TheGraphWithTheNodeIsBuiltAgain) {
  const auto [kind, silently] = GetParam();
  (silently ? fake.forget_updates : fake.refuse_updates) = kind;
  const auto step = load_graph(1);
  ASSERT_NE(step, nullptr);
  const GraphStatistics before = step->graph_statistics();
  set_all(*step);
  fake.log.clear();
  EXPECT_EQ(run(*step), expected());
  EXPECT_EQ(logged("instantiate"), kind == NodeKind::kKernel ? 2 : 1);
  const GraphStatistics after = step->graph_statistics();
  EXPECT_EQ(after.graphs, before.graphs);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.edges, before.edges);
  EXPECT_EQ(after.graphs_rebuilt, kind == NodeKind::kKernel ? 2u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NoUpdates,
                         ::testing::Combine(::testing::Values(NodeKind::kKernel, NodeKind::kCopy,
                                                              NodeKind::kMemset),
                                            ::testing::Bool()));

// The trial passed, but this update is refused.
TEST_F(GraphUpdateTest, AnUpdateThatIsRefusedLaterBuildsTheGraphAgain) {
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  fake.refuse_updates = NodeKind::kCopy;
  set_all(*step);
  fake.log.clear();
  EXPECT_EQ(run(*step), expected());
  EXPECT_EQ(logged("instantiate"), 1);
}

TEST_F(GraphUpdateTest, RuntimesWithoutTheCallsBuildTheGraphAgain) {
  HipTable table = fake.table();
  table.hipGraphExecKernelNodeSetParams = nullptr;
  table.hipGraphExecMemcpyNodeSetParams1D = nullptr;
  table.hipGraphExecMemsetNodeSetParams = nullptr;
  LoadOptions options;
  options.mode = Mode::kGraph;
  auto step = Step::load(program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(step) << step.error().message;
  set_all(**step);
  EXPECT_EQ(run(**step), expected());
}

TEST_F(GraphUpdateTest, ACopyCanBecomeEmptyAndBack) {
  for (const Mode mode : {Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    const auto step = load(fake, program(), options);
    set(*step, 1, PlaceKind::kWidth, {0, 0});
    EXPECT_EQ(run(*step)[0], 7u) << mode_name(mode);
    set(*step, 1, PlaceKind::kWidth, {0, 4});
    EXPECT_EQ(run(*step)[0], 100u) << mode_name(mode);
  }
}

TEST_F(GraphUpdateTest, TheTrialIsMadeOnceAndLeavesNothing) {
  const auto library = fake.library();
  LoadOptions options;
  options.mode = Mode::kGraph;
  size_t alive = 0;
  for (int i = 0; i < 2; ++i) {
    fake.log.clear();
    const auto step = Step::load(program(), library, options);
    ASSERT_TRUE(step);
    EXPECT_EQ(logged("memset update"), i == 0 ? 3 : 0);
    if (i == 0) alive = fake.alive();
    EXPECT_EQ(fake.alive(), alive);
  }
  EXPECT_EQ(fake.alive(), 0u);
}

TEST_F(GraphUpdateTest, SettingAllocatesNothing) {
  for (const Mode mode : {Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    const auto step = load(fake, program(), options);
    ASSERT_NE(step, nullptr);
    fake.keep_log = false;
    uint64_t allocated = 0;
    for (int64_t i = 0; i < 10; ++i) {
      gfxgraph::testing::start_counting_allocations(gfxgraph::testing::OfThreads::kThis);
      (void)step->values().set_place({0, PlaceKind::kArgument, 8, 4}, {0, i});
      (void)step->values().set_place({0, PlaceKind::kGridX, 0, 4}, {0, i + 1});
      (void)step->values().set_place({1, PlaceKind::kSource, 0, 8}, {b, i});
      allocated += gfxgraph::testing::stop_counting_allocations();
      ASSERT_TRUE(step->run());
    }
    EXPECT_EQ(allocated, 0u) << mode_name(mode);
  }
}

// What a runtime leaks for each update is given back before it is much.
TEST_F(GraphUpdateTest, ManyUpdatesOfOneGraphEndInANewOne) {
  fake.keep_log = false;
  const auto step = load_graph();
  ASSERT_NE(step, nullptr);
  const auto update = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      set(*step, 0, PlaceKind::kArgument, {0, i % 2 + 20}, 8);
      ASSERT_TRUE(step->commit());
    }
  };
  update(99'999);
  ASSERT_TRUE(step->wait());
  EXPECT_EQ(step->graph_statistics().graphs_rebuilt, 0u);
  update(2);
  EXPECT_EQ(step->graph_statistics().graphs_rebuilt, 0u) << "only when something waits";
  ASSERT_TRUE(step->wait());
  EXPECT_EQ(step->graph_statistics().graphs_rebuilt, 1u);
  update(200'001);
  EXPECT_EQ(step->graph_statistics().graphs_rebuilt, 2u) << "nobody waits";
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
