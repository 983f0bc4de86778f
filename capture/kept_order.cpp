// Empty nodes where the runtime would not keep the order of a graph (base/hip_quirks.inc).
#include <algorithm>
#include <vector>

#include "base/hip_quirks.h"
#include "capture/hooks_internal.h"
#include "capture/runtime.h"

namespace gfxgraph::capture {
namespace {

using HipNodes = std::vector<hipGraphNode_t>;

bool avoids(HipQuirk quirk) { return hip_quirk_avoided(quirk, runtime_version()); }

template <typename Get>
hipError_t all_of(Get& get, hipGraph_t graph, HipNodes& nodes) {
  size_t count = 0;
  if (const hipError_t error = get(graph, nullptr, &count); error != hipSuccess) return error;
  nodes.resize(count);
  return count == 0 ? hipSuccess : get(graph, nodes.data(), &count);
}

hipError_t add_empty(hipGraph_t graph, const HipNodes& after, hipGraphNode_t& node) {
  return runtime::add_empty(&node, graph, after.data(), after.size());
}

hipError_t follow_root(Captures::Work& work, Nodes& after, bool is_child) {
  if (!work.graph_is_ours() || (!avoids(HipQuirk::kRootsBeginEarly) &&
                                !(is_child && avoids(HipQuirk::kChildRootBeginsEarly))))
    return hipSuccess;
  if (work.root() == nullptr) {
    if (!work.forked()) return hipSuccess;
    hipGraphNode_t root = nullptr;
    if (const hipError_t error = add_empty(static_cast<hipGraph_t>(work.graph()), {}, root);
        error != hipSuccess)
      return error;
    work.begins_with(root);
  }
  after.assign(1, work.root());
  return hipSuccess;
}

// Each edge to the join begins at an empty node, which has no other successor.
hipError_t join(hipGraph_t graph, Nodes& after) {
  if (after.size() < 2 || !avoids(HipQuirk::kGraphEdgeLost)) return hipSuccess;
  HipNodes ends;
  for (const Node node : after) {
    hipGraphNode_t& end = ends.emplace_back();
    if (const hipError_t error = add_empty(graph, {static_cast<hipGraphNode_t>(node)}, end);
        error != hipSuccess)
      return error;
  }
  hipGraphNode_t joined = nullptr;
  if (const hipError_t error = add_empty(graph, ends, joined); error != hipSuccess) return error;
  after.assign(1, joined);
  return hipSuccess;
}

hipError_t last_nodes(hipGraph_t graph, HipNodes& last) {
  HipNodes nodes;
  if (const hipError_t error = all_of(runtime::graph_nodes, graph, nodes); error != hipSuccess)
    return error;
  for (const hipGraphNode_t node : nodes) {
    size_t count = 0;
    if (const hipError_t error = runtime::dependents(node, nullptr, &count); error != hipSuccess)
      return error;
    if (count == 0) last.push_back(node);
  }
  return hipSuccess;
}

hipError_t give_one_root(hipGraph_t graph) {
  if (!avoids(HipQuirk::kRootsBeginEarly)) return hipSuccess;
  HipNodes roots;
  if (const hipError_t error = all_of(runtime::root_nodes, graph, roots); error != hipSuccess)
    return error;
  if (roots.size() < 2) return hipSuccess;
  hipGraphNode_t first = nullptr;
  if (const hipError_t error = add_empty(graph, {}, first); error != hipSuccess) return error;
  const HipNodes from(roots.size(), first);
  return runtime::add_dependencies(graph, from.data(), roots.data(), roots.size());
}

hipError_t give_one_end(hipGraph_t graph) {
  if (!avoids(HipQuirk::kChildEndsNotWaitedFor)) return hipSuccess;
  HipNodes last;
  if (const hipError_t error = last_nodes(graph, last); error != hipSuccess) return error;
  hipGraphNode_t end = nullptr;
  return last.size() < 2 ? hipSuccess : add_empty(graph, last, end);
}

}  // namespace

hipError_t copy_in_order(hipGraph_t child, hipGraph_t& copy) {
  copy = nullptr;
  HipNodes roots, last;
  if (const hipError_t error = all_of(runtime::root_nodes, child, roots); error != hipSuccess)
    return error;
  if (const hipError_t error = last_nodes(child, last); error != hipSuccess) return error;
  if (roots.size() < 2 && last.size() < 2) return hipSuccess;
  if (const hipError_t error = runtime::clone_graph(&copy, child); error != hipSuccess)
    return error;
  if (const hipError_t error = give_one_root(copy); error != hipSuccess) return error;
  return give_one_end(copy);
}

hipError_t keep_order(Captures::Work& work, Nodes& after, bool is_child) {
  if (after.empty()) return follow_root(work, after, is_child);
  return join(static_cast<hipGraph_t>(work.graph()), after);
}

}  // namespace gfxgraph::capture
