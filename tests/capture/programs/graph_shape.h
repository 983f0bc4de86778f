// Nodes and edges of a graph, for programs that compare captures. OK(call) is the program's.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <set>
#include <vector>

namespace {

// Empty nodes count for nothing: the layer adds some where a runtime would lose the order.
bool is_empty(hipGraphNode_t node) {
  hipGraphNodeType type = hipGraphNodeTypeKernel;
  OK(hipGraphNodeGetType(node, &type));
  return type == hipGraphNodeTypeEmpty;
}
std::vector<hipGraphNode_t> nodes_in(hipGraph_t graph) {
  size_t count = 0;
  OK(hipGraphGetNodes(graph, nullptr, &count));
  std::vector<hipGraphNode_t> nodes(count);
  if (count != 0) OK(hipGraphGetNodes(graph, nodes.data(), &count));
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_empty), nodes.end());
  return nodes;
}
// What the node follows directly, or through empty nodes.
std::set<hipGraphNode_t> before(hipGraphNode_t node) {
  size_t count = 0;
  OK(hipGraphNodeGetDependencies(node, nullptr, &count));
  std::vector<hipGraphNode_t> direct(count);
  if (count != 0) OK(hipGraphNodeGetDependencies(node, direct.data(), &count));
  std::set<hipGraphNode_t> all;
  for (const hipGraphNode_t one : direct) {
    if (is_empty(one)) {
      all.merge(before(one));
    } else {
      all.insert(one);
    }
  }
  return all;
}
size_t nodes_of(hipGraph_t graph) { return nodes_in(graph).size(); }
size_t edges_of(hipGraph_t graph) {
  size_t count = 0;
  for (const hipGraphNode_t node : nodes_in(graph)) count += before(node).size();
  return count;
}

}  // namespace
