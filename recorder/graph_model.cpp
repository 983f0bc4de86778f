#include "recorder/graph_model.h"

#include <algorithm>
#include <cstring>

#include "format/writer.h"

namespace gfxgraph::recorder {

std::optional<uint32_t> GraphTemplate::find(Handle node) const {
  if (node == nullptr) return std::nullopt;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].handle == node && !nodes[i].removed) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

namespace {

// Indices in an order in which every node comes after its dependencies; nodes without an order
// between them stay as they were added.
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

// Appends `graph`; its roots depend on `before`. Gives the nodes that what follows must wait for.
// `owner`: the top-level child graph node that `graph` is inside of; nullptr: the top level.
std::optional<std::vector<uint32_t>> append(const GraphTemplate& graph,
                                            const std::vector<uint32_t>& before, Handle owner,
                                            std::vector<FlatNode>& out) {
  const auto order = topological_order(graph);
  if (!order) return std::nullopt;
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
    if (node.child) {
      auto child_ends =
          append(*node.child, dependencies, owner == nullptr ? node.handle : owner, out);
      if (!child_ends) return std::nullopt;
      ends[index] = child_ends->empty() ? dependencies : *child_ends;
      continue;
    }
    ends[index] = {static_cast<uint32_t>(out.size())};
    out.push_back(
        FlatNode{owner == nullptr ? node.handle : nullptr, owner, node.action, dependencies});
  }
  std::vector<uint32_t> last;
  for (const uint32_t index : *order) {
    if (!has_successor[index]) last.insert(last.end(), ends[index].begin(), ends[index].end());
  }
  sort_unique(last);
  return last;
}

}  // namespace

std::optional<std::vector<FlatNode>> flatten(const GraphTemplate& graph) {
  std::vector<FlatNode> nodes;
  if (!append(graph, {}, nullptr, nodes)) return std::nullopt;
  return nodes;
}

void Captures::begin(Handle stream) {
  streams_[stream] = State{std::make_shared<GraphTemplate>(), {}, false};
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
  TemplateNode node;
  node.action = std::move(action);
  node.dependencies = state.tail;
  state.graph->nodes.push_back(std::move(node));
  state.tail = {static_cast<uint32_t>(state.graph->nodes.size() - 1)};
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
