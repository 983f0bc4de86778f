#include "recorder/objects/graph_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Handle node_handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

TemplateNode node(uintptr_t id, std::vector<uint32_t> dependencies) {
  TemplateNode made;
  made.handle = node_handle(id);
  static constexpr const char* kNames[] = {"0", "1", "2", "3",  "4",  "5", "6",
                                           "7", "8", "9", "10", "11", "12"};
  made.action = RawHostFunction{kNames[id % 13]};
  made.dependencies = std::move(dependencies);
  return made;
}

std::string name(const FlatNode& flat) { return std::get<RawHostFunction>(flat.action).call; }

TEST(GraphModel, LaterNodesMayComeFirst) {
  GraphTemplate graph;
  graph.nodes = {node(1, {2}), node(2, {}), node(3, {1})};
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat);
  ASSERT_EQ(flat->size(), 3u);
  EXPECT_EQ(name((*flat)[0]), "2");
  EXPECT_EQ(name((*flat)[1]), "3");
  EXPECT_EQ(name((*flat)[2]), "1");
  EXPECT_THAT((*flat)[2].dependencies, ElementsAre(1));
}

TEST(GraphModel, CyclesAreFound) {
  GraphTemplate graph;
  graph.nodes = {node(1, {1}), node(2, {0})};
  EXPECT_FALSE(flatten(graph));
}

TEST(GraphModel, RemovedNodesLeaveNoDependency) {
  GraphTemplate graph;
  graph.nodes = {node(1, {}), node(2, {0}), node(3, {1})};
  graph.nodes[1].removed = true;
  EXPECT_FALSE(graph.find(node_handle(2)));
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat);
  ASSERT_EQ(flat->size(), 2u);
  EXPECT_THAT((*flat)[1].dependencies, IsEmpty());
}

TEST(GraphModel, ChildGraphsAreSplicedIn) {
  auto child = std::make_shared<GraphTemplate>();
  child->nodes = {node(10, {}), node(11, {}), node(12, {0})};
  GraphTemplate graph;
  graph.nodes = {node(1, {}), node(2, {0}), node(3, {1})};
  graph.nodes[1].child = child;
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat);
  ASSERT_EQ(flat->size(), 5u);
  EXPECT_THAT((*flat)[1].dependencies, ElementsAre(0)) << "the child's roots wait for its parents";
  EXPECT_THAT((*flat)[2].dependencies, ElementsAre(0));
  EXPECT_THAT((*flat)[4].dependencies, ElementsAre(2, 3)) << "followers wait for its ends";
  EXPECT_EQ((*flat)[1].handle, nullptr);
  EXPECT_EQ((*flat)[4].handle, node_handle(3));
}

TEST(GraphModel, OnlyChangedLevelsMayDropNodes) {
  GraphTemplate graph;
  graph.nodes = {node(1, {}), node(2, {}), node(3, {}), node(4, {})};
  graph.remove(3);
  graph.connect(0, 1);
  graph.connect(1, 2);
  EXPECT_FALSE(may_drop_nodes(graph)) << "each is where its edges lead to";
  graph.disconnect(0, 1);
  EXPECT_TRUE(may_drop_nodes(graph)) << "two are nearer to a root now";
}

TEST(GraphModel, EmptyChildrenPassDependenciesOn) {
  GraphTemplate graph;
  graph.nodes = {node(1, {}), node(2, {0}), node(3, {1})};
  graph.nodes[1].child = std::make_shared<GraphTemplate>();
  const auto flat = flatten(graph);
  ASSERT_TRUE(flat);
  ASSERT_EQ(flat->size(), 2u);
  EXPECT_THAT((*flat)[1].dependencies, ElementsAre(0));
}

// r -> m and r -> n, with the edge to n made first when `turned`.
std::vector<FlatNode> forked_graph(bool turned, std::initializer_list<uintptr_t> names) {
  GraphTemplate graph;
  for (const uintptr_t name : names) graph.nodes.push_back(node(name, {}));
  graph.connect(0, turned ? 2 : 1);
  graph.connect(0, turned ? 1 : 2);
  return *flatten(graph);
}

TEST(GraphModel, UpdatesOfGraphsMadeAlikeArePairedInOrder) {
  for (const bool by_level : {false, true}) {
    std::vector<FlatNode> nodes = forked_graph(false, {1, 2, 3});
    ASSERT_TRUE(update_nodes(nodes, forked_graph(false, {4, 5, 6}), by_level));
    EXPECT_EQ(name(nodes[1]), "5");
    EXPECT_EQ(nodes[1].handle, node_handle(2)) << "the executable keeps its own handles";
  }
}

TEST(GraphModel, UpdatesOfGraphsMadeOtherwiseArePairedByLevelOrNotAtAll) {
  std::vector<FlatNode> nodes = forked_graph(false, {1, 2, 3});
  EXPECT_FALSE(update_nodes(nodes, forked_graph(true, {4, 5, 6}), false));
  EXPECT_EQ(name(nodes[1]), "2") << "nothing was changed";
  ASSERT_TRUE(update_nodes(nodes, forked_graph(true, {4, 5, 6}), true));
  for (const FlatNode& flat : nodes) {
    if (flat.handle == node_handle(1)) continue;
    EXPECT_EQ(name(flat), flat.handle == node_handle(2) ? "6" : "5");
  }
}

TEST(GraphModel, AnUpdateAddsItsEdges) {
  std::vector<FlatNode> nodes = forked_graph(false, {1, 2, 3});
  GraphTemplate two_roots;
  two_roots.nodes = {node(4, {}), node(5, {}), node(6, {})};
  two_roots.connect(0, 1);
  two_roots.connect(0, 2);
  std::vector<FlatNode> chain = *flatten(two_roots);
  ASSERT_TRUE(update_nodes(nodes, chain, true));
  EXPECT_THAT(nodes[2].dependencies, ElementsAre(0));
  two_roots.connect(1, 2);
  ASSERT_TRUE(update_nodes(nodes, *flatten(two_roots), true));
  EXPECT_THAT(nodes[2].dependencies, ElementsAre(0, 1));
}

TEST(Captures, AStreamWithAUsedHandleCapturesNothing) {
  Captures captures;
  captures.begin(node_handle(1));
  captures.record_event(node_handle(100), node_handle(1));
  EXPECT_TRUE(captures.wait_event(node_handle(2), node_handle(100)));
  EXPECT_NE(captures.end(node_handle(1), [](Handle stream) { return stream == node_handle(2); }),
            nullptr);
  EXPECT_TRUE(captures.capturing(node_handle(2))) << "HIP 5.2 forgets it";
  captures.forget_stream(node_handle(2));
  EXPECT_FALSE(captures.capturing(node_handle(2)));
}

TEST(Captures, EventsCarryACaptureToOtherStreams) {
  Captures captures;
  captures.begin(node_handle(1));
  captures.add(node_handle(1), RawHostFunction{"a"});
  captures.record_event(node_handle(100), node_handle(1));
  EXPECT_TRUE(captures.wait_event(node_handle(2), node_handle(100)));
  EXPECT_FALSE(captures.wait_event(node_handle(2), node_handle(101)));
  EXPECT_TRUE(captures.capturing(node_handle(2)));
  captures.add(node_handle(2), RawHostFunction{"b"});
  captures.add(node_handle(1), RawHostFunction{"c"});
  captures.record_event(node_handle(101), node_handle(2));
  EXPECT_TRUE(captures.wait_event(node_handle(1), node_handle(101)));
  captures.add(node_handle(1), RawHostFunction{"d"});
  const auto none = [](Handle) { return false; };
  EXPECT_EQ(captures.end(node_handle(5), none), nullptr);
  const auto graph = captures.end(node_handle(1), none);
  ASSERT_NE(graph, nullptr);
  EXPECT_FALSE(captures.any());
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_THAT(graph->nodes[1].dependencies, ElementsAre(0));
  EXPECT_THAT(graph->nodes[2].dependencies, ElementsAre(0));
  EXPECT_THAT(graph->nodes[3].dependencies, ElementsAre(1, 2));
  EXPECT_FALSE(captures.wait_event(node_handle(2), node_handle(101))) << "the capture is over";
}

TEST(Fingerprint, DiffersWithEverythingThatAReplayWouldDoOtherwise) {
  std::vector<format::GraphNode> nodes(2);
  format::Launch launch;
  launch.kernel = 1;
  launch.kernarg = {1, 2, 3, 4};
  nodes[0].action = launch;
  nodes[1].action = format::Memset{};
  nodes[1].dependencies = {0};
  const format::BlobId reference = fingerprint(nodes);
  EXPECT_EQ(fingerprint(nodes), reference);
  const auto differs = [&](auto change) {
    std::vector<format::GraphNode> copy = nodes;
    change(copy);
    return fingerprint(copy) != reference;
  };
  EXPECT_TRUE(differs([](auto& n) { std::get<format::Launch>(n[0].action).kernarg[2] = 9; }));
  EXPECT_TRUE(differs([](auto& n) { std::get<format::Launch>(n[0].action).kernel = 2; }));
  EXPECT_TRUE(differs([](auto& n) { std::get<format::Launch>(n[0].action).grid[1] = 2; }));
  EXPECT_TRUE(differs([](auto& n) { n[1].dependencies.clear(); }));
  EXPECT_TRUE(differs([](auto& n) { std::get<format::Memset>(n[1].action).value = 1; }));
  EXPECT_TRUE(differs([](auto& n) {
    std::get<format::Launch>(n[0].action).relocations.push_back({0, 1, 0, {}, false});
  }));
}

}  // namespace
}  // namespace gfxgraph::recorder
