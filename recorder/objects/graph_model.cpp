#include "recorder/objects/graph_model.h"

#include <algorithm>
#include <cstring>

#include "format/write/writer.h"

namespace gfxgraph::recorder {

std::optional<uint32_t> GraphTemplate::find(Handle node) const {
  if (node == nullptr) return std::nullopt;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].handle == node && !nodes[i].removed) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

void GraphTemplate::connect(uint32_t from, uint32_t to) {
  std::vector<uint32_t>& dependencies = nodes[to].dependencies;
  if (std::find(dependencies.begin(), dependencies.end(), from) != dependencies.end()) return;
  dependencies.push_back(from);
  edges.emplace_back(from, to);
  if (kept_levels.empty()) return;
  kept_levels.resize(nodes.size());
  // With those behind it: few, because graphs are seldom changed so.
  std::vector<std::pair<uint32_t, uint32_t>> raised = {{to, kept_levels[from] + 1}};
  while (!raised.empty()) {
    const auto [node, level] = raised.back();
    raised.pop_back();
    if (kept_levels[node] >= level || level > nodes.size()) continue;
    kept_levels[node] = level;
    for (const auto& [before, behind] : edges)
      if (before == node) raised.emplace_back(behind, level + 1);
  }
}

namespace {

// The longest path from a root to each node; 0 of those in a cycle.
std::vector<uint32_t> levels_of(const GraphTemplate& graph) {
  const std::vector<TemplateNode>& nodes = graph.nodes;
  std::vector<uint32_t> levels(nodes.size());
  std::vector<size_t> missing(nodes.size());
  std::vector<std::vector<uint32_t>> successors(nodes.size());
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (const uint32_t before : nodes[i].dependencies) {
      if (nodes[before].removed) continue;
      successors[before].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  for (size_t head = 0; head < ready.size(); ++head) {
    const uint32_t node = ready[head];
    for (const uint32_t next : successors[node]) {
      levels[next] = std::max(levels[next], levels[node] + 1);
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  return levels;
}

}  // namespace

void GraphTemplate::keep_levels() {
  if (kept_levels.empty()) kept_levels = levels_of(*this);
}

void GraphTemplate::remove(uint32_t node) {
  keep_levels();
  nodes[node].removed = true;
}

bool may_drop_nodes(const GraphTemplate& graph) {
  if (!graph.kept_levels.empty()) {
    const std::vector<uint32_t> levels = levels_of(graph);
    for (size_t i = 0; i < levels.size(); ++i) {
      const uint32_t kept = i < graph.kept_levels.size() ? graph.kept_levels[i] : 0;
      if (!graph.nodes[i].removed && kept != levels[i]) return true;
    }
  }
  return std::ranges::any_of(graph.nodes, [](const TemplateNode& node) {
    return !node.removed && node.child && may_drop_nodes(*node.child);
  });
}

void GraphTemplate::disconnect(uint32_t from, uint32_t to) {
  keep_levels();
  std::erase(nodes[to].dependencies, from);
  std::erase(edges, std::pair(from, to));
  edge_order_known = false;
}

std::shared_ptr<GraphTemplate> deep_copy(const GraphTemplate& graph) {
  auto copy = std::make_shared<GraphTemplate>(graph);
  for (TemplateNode& node : copy->nodes) {
    if (node.child) node.child = deep_copy(*node.child);
  }
  return copy;
}

namespace {

// The place of each node in level order: by level (longest path from a root), within a level in the
// order in which edges reach the nodes. As HIP 5.2.3 pairs them (measured). Nothing if the order is
// unknown.
std::optional<std::vector<uint32_t>> level_places(const GraphTemplate& graph,
                                                  const std::vector<uint32_t>& order) {
  size_t dependencies = 0;
  for (const TemplateNode& node : graph.nodes) {
    if (node.removed) return std::nullopt;
    dependencies += node.dependencies.size();
  }
  if (!graph.edge_order_known || graph.edges.size() != dependencies) return std::nullopt;
  std::vector<uint32_t> level(graph.nodes.size());
  for (const uint32_t index : order) {
    for (const uint32_t before : graph.nodes[index].dependencies) {
      level[index] = std::max(level[index], level[before] + 1);
    }
  }
  std::vector<std::vector<uint32_t>> successors(graph.nodes.size());
  for (const auto& [from, to] : graph.edges) successors[from].push_back(to);
  std::vector<uint32_t> queue;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].dependencies.empty()) queue.push_back(i);
  }
  std::vector<bool> seen(graph.nodes.size());
  std::vector<uint32_t> places(graph.nodes.size());
  for (size_t head = 0; head < queue.size(); ++head) {
    const uint32_t node = queue[head];
    places[node] = static_cast<uint32_t>(head);
    for (const uint32_t next : successors[node]) {
      if (seen[next] || level[next] != level[node] + 1) continue;
      seen[next] = true;
      queue.push_back(next);
    }
  }
  return places;
}

// Indices in topological order; nodes that are not ordered by edges keep the order in which they
// were added.
std::optional<std::vector<uint32_t>> topological_order(const GraphTemplate& graph) {
  std::vector<uint32_t> order;
  std::vector<bool> placed(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) placed[i] = graph.nodes[i].removed;
  const auto ready = [&](const TemplateNode& node) {
    return std::all_of(node.dependencies.begin(), node.dependencies.end(),
                       [&](uint32_t d) { return placed[d]; });
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (placed[i] || !ready(graph.nodes[i])) continue;
      placed[i] = true;
      order.push_back(i);
      progress = true;
    }
  }
  if (std::find(placed.begin(), placed.end(), false) != placed.end()) return std::nullopt;
  return order;
}

void sort_unique(std::vector<uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Appends `graph`, whose roots depend on `before`. Returns the nodes that its successors depend on.
// `owner`: the top-level child graph node that `graph` is inside of; nullptr: the top level.
// `place`: of that node; nullptr: not known.
std::optional<std::vector<uint32_t>> append(const GraphTemplate& graph,
                                            const std::vector<uint32_t>& before, Handle owner,
                                            const std::vector<uint32_t>* place,
                                            std::vector<FlatNode>& out) {
  const auto order = topological_order(graph);
  if (!order) return std::nullopt;
  const auto places = level_places(graph, *order);
  std::vector<std::vector<uint32_t>> ends(graph.nodes.size());  // flat nodes that stand for a node
  std::vector<bool> has_successor(graph.nodes.size());
  for (const uint32_t index : *order) {
    const TemplateNode& node = graph.nodes[index];
    std::vector<uint32_t> dependencies;
    bool root = true;
    for (const uint32_t dependency : node.dependencies) {
      if (graph.nodes[dependency].removed) continue;
      root = false;
      has_successor[dependency] = true;
      dependencies.insert(dependencies.end(), ends[dependency].begin(), ends[dependency].end());
    }
    if (root) dependencies = before;
    sort_unique(dependencies);
    std::vector<uint32_t> here;
    if (place != nullptr && places) {
      here = *place;
      here.push_back((*places)[index]);
    }
    if (node.child) {
      auto child_ends = append(*node.child, dependencies, owner == nullptr ? node.handle : owner,
                               here.empty() ? nullptr : &here, out);
      if (!child_ends) return std::nullopt;
      ends[index] = child_ends->empty() ? dependencies : *child_ends;
      continue;
    }
    ends[index] = {static_cast<uint32_t>(out.size())};
    out.push_back(FlatNode{owner == nullptr ? node.handle : nullptr, owner, node.action,
                           std::nullopt, dependencies, std::move(here)});
  }
  std::vector<uint32_t> last;
  for (const uint32_t index : *order) {
    if (!has_successor[index]) last.insert(last.end(), ends[index].begin(), ends[index].end());
  }
  sort_unique(last);
  return last;
}

}  // namespace

bool child_has_several_ends(const GraphTemplate& graph) {
  const auto several = [](const GraphTemplate& child) {
    std::vector<bool> end(child.nodes.size());
    for (size_t i = 0; i < end.size(); ++i) {
      if (child.nodes[i].removed) continue;
      end[i] = true;
      for (const uint32_t earlier : child.nodes[i].dependencies) end[earlier] = false;
    }
    return std::ranges::count(end, true) > 1;
  };
  return std::ranges::any_of(graph.nodes, [&](const TemplateNode& node) {
    return !node.removed && node.child &&
           (several(*node.child) || child_has_several_ends(*node.child));
  });
}

bool child_root_behind_another(const GraphTemplate& graph) {
  const auto ordered = [](const auto& self, const GraphTemplate& child) -> bool {
    return std::ranges::any_of(child.nodes, [&](const TemplateNode& node) {
      return !node.removed &&
             (!node.dependencies.empty() || (node.child && self(self, *node.child)));
    });
  };
  bool root_before = false;
  for (const TemplateNode& node : graph.nodes) {
    if (node.removed) continue;
    if (node.child && child_root_behind_another(*node.child)) return true;
    if (!node.dependencies.empty()) continue;
    if (root_before && node.child && ordered(ordered, *node.child)) return true;
    root_before = true;
  }
  return false;
}

std::optional<std::vector<FlatNode>> flatten(const GraphTemplate& graph) {
  std::vector<FlatNode> nodes;
  const std::vector<uint32_t> top;
  if (!append(graph, {}, nullptr, &top, nodes)) return std::nullopt;
  return nodes;
}

namespace {

// Whether the edges allow only one order of the nodes, so that all pairing rules agree.
bool is_chain(const std::vector<FlatNode>& nodes) {
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].dependencies != std::vector<uint32_t>{i - 1}) return false;
  }
  return true;
}

}  // namespace

bool update_nodes(std::vector<FlatNode>& nodes, std::vector<FlatNode> update, bool by_level) {
  if (nodes.size() != update.size()) return false;
  // partner[i]: the node of the executable that takes over update[i].
  std::vector<uint32_t> partner(update.size());
  const bool chain = is_chain(nodes) && is_chain(update);
  const bool alike = chain || std::equal(nodes.begin(), nodes.end(), update.begin(),
                                         [](const FlatNode& a, const FlatNode& b) {
                                           return a.dependencies == b.dependencies &&
                                                  a.place == b.place && !a.place.empty();
                                         });
  if (alike) {
    for (uint32_t i = 0; i < partner.size(); ++i) partner[i] = i;
  } else {
    if (!by_level) return false;
    std::map<std::vector<uint32_t>, uint32_t> by_place;
    for (uint32_t i = 0; i < nodes.size(); ++i) by_place[nodes[i].place] = i;
    for (uint32_t i = 0; i < update.size(); ++i) {
      const auto found = by_place.find(update[i].place);
      if (update[i].place.empty() || found == by_place.end()) return false;
      partner[i] = found->second;
    }
    if (by_place.size() != nodes.size()) return false;
  }
  for (uint32_t i = 0; i < update.size(); ++i) {
    if (nodes[partner[i]].action.index() != update[i].action.index()) return false;
  }
  std::vector<FlatNode> changed = nodes;
  for (uint32_t i = 0; i < update.size(); ++i) {
    FlatNode& node = changed[partner[i]];
    node.action = std::move(update[i].action);
    for (const uint32_t before : update[i].dependencies) {
      node.dependencies.push_back(partner[before]);
    }
    sort_unique(node.dependencies);
  }
  // Sorted by place, the nodes are in a topological order of both graphs.
  std::vector<uint32_t> order(changed.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  if (!alike) {
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return changed[a].place < changed[b].place; });
  }
  std::vector<uint32_t> position(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (uint32_t i = 0; i < order.size(); ++i) {
    nodes[i] = std::move(changed[order[i]]);
    for (uint32_t& before : nodes[i].dependencies) before = position[before];
    sort_unique(nodes[i].dependencies);
  }
  return true;
}

void Captures::begin(Handle stream) {
  streams_[stream] = State{std::make_shared<GraphTemplate>(), {}, false};
}

void Captures::begin_in(Handle stream, std::shared_ptr<GraphTemplate> graph,
                        std::vector<uint32_t> nodes) {
  streams_[stream] = State{std::move(graph), std::move(nodes), false};
}

bool Captures::any() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return !entry.second.ended; });
}

std::shared_ptr<GraphTemplate> Captures::end(Handle stream,
                                             const std::function<bool(Handle)>& forgotten) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  std::shared_ptr<GraphTemplate> graph = found->second.graph;
  for (auto& [handle, state] : streams_) {
    if (state.graph == graph) state.ended = forgotten(handle);
  }
  std::erase_if(streams_, [&](const auto& entry) {
    return entry.second.graph == graph && !entry.second.ended;
  });
  std::erase_if(events_, [&](const auto& entry) { return entry.second.graph == graph; });
  return graph;
}

void Captures::add(Handle stream, RawAction action) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  State& state = found->second;
  const auto index = static_cast<uint32_t>(state.graph->nodes.size());
  state.graph->nodes.emplace_back().action = std::move(action);
  for (const uint32_t before : state.tail) state.graph->connect(before, index);
  state.tail = {index};
}

std::shared_ptr<GraphTemplate> Captures::graph_of(Handle stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.ended ? nullptr : found->second.graph;
}

void Captures::depend_on(Handle stream, std::vector<uint32_t> nodes, bool replace) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  std::vector<uint32_t>& tail = found->second.tail;
  if (replace) tail.clear();
  tail.insert(tail.end(), nodes.begin(), nodes.end());
  sort_unique(tail);
}

void Captures::record_event(Handle event, Handle stream) { events_[event] = streams_.at(stream); }

bool Captures::wait_event(Handle stream, Handle event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  State& state = streams_[stream];
  if (!state.graph) state.graph = found->second.graph;
  state.tail.insert(state.tail.end(), found->second.tail.begin(), found->second.tail.end());
  sort_unique(state.tail);
  return true;
}

namespace {

class Fields {
 public:
  template <typename... T>
  void add(const T&... values) {
    (add_bytes(&values, sizeof(values)), ...);
  }
  void add_bytes(const void* bytes, size_t size) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    data_.insert(data_.end(), begin, begin + size);
  }
  void add(const std::vector<format::Relocation>& relocations) {
    for (const format::Relocation& r : relocations) add(r.offset_bytes, r.allocation, r.addend);
  }
  void add(const format::Content& content) {
    add(content.size_bytes, content.hash.low, content.hash.high);
    add(content.relocations);
  }
  void operator()(const std::monostate&) {}
  void operator()(const format::Launch& launch) {
    add(launch.kernel, launch.grid, launch.grid_remainder, launch.block, launch.dynamic_lds_bytes,
        launch.cooperative);
    add_bytes(launch.kernarg.data(), launch.kernarg.size());
    add(launch.relocations);
  }
  void operator()(const format::Copy& copy) {
    for (const format::CopyEnd* end : {&copy.destination, &copy.source}) {
      add(end->allocation, end->offset_bytes, end->pitch_bytes, end->slice_bytes);
    }
    add(copy.width_bytes, copy.height, copy.depth);
    add(copy.host_source);
  }
  void operator()(const format::Memset& set) {
    add(set.allocation, set.offset_bytes, set.pitch_bytes, set.slice_bytes, set.element_bytes,
        set.value, set.width_elements, set.height, set.depth);
  }
  void operator()(const format::HostFunction& function) {
    add_bytes(function.call.data(), function.call.size());
  }
  std::span<const std::byte> bytes() const { return data_; }

 private:
  std::vector<std::byte> data_;
};

}  // namespace

format::BlobId fingerprint(std::span<const format::GraphNode> nodes) {
  Fields fields;
  for (const format::GraphNode& node : nodes) {
    fields.add(node.action.index(), node.dependencies.size());
    fields.add_bytes(node.dependencies.data(), node.dependencies.size() * sizeof(uint32_t));
    std::visit(fields, node.action);
  }
  return format::hash_bytes(fields.bytes());
}

}  // namespace gfxgraph::recorder
