#include "recorder/objects/executable_graphs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/hip_quirks.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

using format::FindingKind;

namespace {

constexpr const char* kNotPaired =
    "with nodes or edges made in another order: it is unknown which nodes correspond";

}  // namespace

void ExecutableGraphs::instantiated(Handle executable, Handle graph) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = graphs_.find(graph, "hipGraphInstantiate");
    if (!model) return;
    std::optional<std::vector<FlatNode>> nodes = flatten(*model);
    if (!nodes) {
      finding(FindingKind::kIncomplete, "hipGraphInstantiate", "the recorded nodes form a cycle");
      return;
    }
    if (hip_quirk_seen(HipQuirk::kNodesNotRun, facts_.runtime_version) && may_drop_nodes(*model)) {
      finding(FindingKind::kIncomplete, "hipGraphInstantiate",
              "edges or nodes were removed from the graph: this runtime may never run nodes behind "
              "them (docs/runtime-quirks.md, kNodesNotRun), and a replay would");
    }
    if (child_has_several_ends(*model) &&
        hip_quirk_seen(HipQuirk::kChildEndsNotWaitedFor, facts_.runtime_version)) {
      finding(FindingKind::kNote, "hipGraphInstantiate",
              "a child graph ends with several nodes: this runtime may continue before all are "
              "done (docs/runtime-quirks.md, kChildEndsNotWaitedFor); a replay waits for all");
    }
    if (child_root_behind_another(*model) &&
        hip_quirk_seen(HipQuirk::kChildRootBeginsEarly, facts_.runtime_version)) {
      finding(FindingKind::kNote, "hipGraphInstantiate",
              "a child graph has no predecessor, but its graph has other nodes: this runtime may "
              "start it before earlier work of the stream is done (docs/runtime-quirks.md, "
              "kChildRootBeginsEarly); a replay waits for that work");
    }
    ExecutableGraph& made = executables_[executable];
    made = ExecutableGraph{};
    made.nodes = std::move(*nodes);
    made.device = current_device;
  });
}

void ExecutableGraphs::changed(Handle executable, Handle node, RawAction action,
                               const char* call) noexcept {
  guarded([&] {
    const auto found = executables_.find(executable);
    if (found != executables_.end()) {
      for (FlatNode& flat : found->second.nodes) {
        if (flat.handle == nullptr || flat.handle != node) continue;
        RawAction& own = flat.disabled ? *flat.disabled : flat.action;
        graphs_.change(own, std::move(action), call);
        found->second.changed = true;
        return;
      }
    }
    finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
  });
}

void ExecutableGraphs::node_enabled(Handle executable, Handle node, bool enabled) noexcept {
  guarded([&] {
    const char* call = "hipGraphNodeSetEnabled";
    const auto found = executables_.find(executable);
    if (found != executables_.end()) {
      for (FlatNode& flat : found->second.nodes) {
        if (flat.handle == nullptr || flat.handle != node) continue;
        if (enabled == !flat.disabled) return;
        if (enabled) {
          flat.action = std::move(*flat.disabled);
          flat.disabled.reset();
        } else {
          flat.disabled = std::exchange(flat.action, RawAction{});
          Handle& first = found->second.once_disabled;
          if (first == nullptr) first = node;
          if (first != node &&
              hip_quirk_seen(HipQuirk::kFirstDisabledNodeStays, facts_.runtime_version)) {
            finding(FindingKind::kIncomplete, call,
                    "of a second node, which this runtime mistakes for the first one");
          }
        }
        found->second.changed = true;
        return;
      }
    }
    finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
  });
}

// A graph of the same shape takes the place of the one that the child node was made with.
void ExecutableGraphs::child_changed(Handle executable, Handle node, Handle child) noexcept {
  guarded([&] {
    const char* call = "hipGraphExecChildGraphNodeSetParams";
    const std::shared_ptr<GraphTemplate> model = graphs_.find(child, call);
    if (!model) return;
    const auto found = executables_.find(executable);
    if (found == executables_.end() || node == nullptr) {
      finding(FindingKind::kIncomplete, call, "of an executable graph that was not recorded");
      return;
    }
    // The same nodes in a graph of their own, without what they wait for outside of it.
    std::vector<FlatNode>& nodes = found->second.nodes;
    std::vector<uint32_t> inside;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].child == node) inside.push_back(i);
    }
    std::vector<FlatNode> part;
    for (const uint32_t index : inside) {
      FlatNode& own = part.emplace_back(nodes[index]);
      own.dependencies.clear();
      for (const uint32_t before : nodes[index].dependencies) {
        const auto at = std::lower_bound(inside.begin(), inside.end(), before);
        if (at != inside.end() && *at == before) {
          own.dependencies.push_back(static_cast<uint32_t>(at - inside.begin()));
        }
      }
      if (!own.place.empty()) own.place.erase(own.place.begin());
    }
    std::optional<std::vector<FlatNode>> update = flatten(*model);
    // Only graphs that were made alike: their nodes keep their places among the others.
    if (!update || !update_nodes(part, std::move(*update), false)) {
      finding(FindingKind::kIncomplete, call, kNotPaired);
      return;
    }
    for (size_t i = 0; i < inside.size(); ++i) nodes[inside[i]].action = std::move(part[i].action);
    found->second.changed = true;
  });
}

void ExecutableGraphs::updated(Handle executable, Handle graph) noexcept {
  guarded([&] {
    const char* call = "hipGraphExecUpdate";
    const std::shared_ptr<GraphTemplate> model = graphs_.find(graph, call);
    if (!model) return;
    const auto found = executables_.find(executable);
    if (found == executables_.end()) {
      finding(FindingKind::kIncomplete, call, "of an executable graph that was not recorded");
      return;
    }
    if (std::ranges::any_of(found->second.nodes,
                            [](const FlatNode& node) { return node.disabled.has_value(); })) {
      finding(FindingKind::kIncomplete, call, "of an executable graph with disabled nodes");
      return;
    }
    std::optional<std::vector<FlatNode>> update = flatten(*model);
    const bool by_level = hip_quirk_seen(HipQuirk::kExecUpdatePairsByLevel, facts_.runtime_version);
    if (!update || !update_nodes(found->second.nodes, std::move(*update), by_level)) {
      finding(FindingKind::kIncomplete, call, kNotPaired);
      return;
    }
    found->second.changed = true;
  });
}

void ExecutableGraphs::destroyed(Handle executable) noexcept {
  guarded([&] { executables_.erase(executable); });
}

ExecutableGraph* ExecutableGraphs::find(Handle handle) {
  const auto found = executables_.find(handle);
  return found == executables_.end() ? nullptr : &found->second;
}

void ExecutableGraphs::number_anew() {
  for (auto& [handle, graph] : executables_) {
    graph.id = 0;
    graph.changed = true;
  }
}

}  // namespace gfxgraph::recorder
