// Stream capture, explicit graphs and their launches.
#include <fmt/format.h>

#include "base/hip_quirks.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

using format::FindingKind;

namespace {

constexpr const char* kNotPaired =
    "with nodes or edges made in another order: which node takes over which is not known";

void find_events(ExecutableGraph& graph) {
  graph.waits.clear();
  graph.records.clear();
  for (const FlatNode& node : graph.nodes) {
    if (const auto* wait = std::get_if<RawEventWait>(&node.action)) {
      graph.waits.push_back(wait->event);
    } else if (const auto* record = std::get_if<RawEventRecord>(&node.action)) {
      graph.records.push_back(record->event);
    }
  }
}

}  // namespace

void Recorder::capture_begins(Handle stream) noexcept {
  guarded([&] { captures_.begin(stream); });
}

void Recorder::capture_begins_in(Handle stream, Handle graph, const Handle* dependencies,
                                 size_t count) noexcept {
  guarded([&] {
    const char* call = "hipStreamBeginCaptureToGraph";
    const std::shared_ptr<GraphTemplate> model = find_graph(graph, call);
    if (!model) return;
    std::vector<uint32_t> nodes;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<uint32_t> node = model->find(dependencies[i]);
      if (!node) {
        finding(FindingKind::kIncomplete, call, "behind a node that was not recorded");
        return;
      }
      nodes.push_back(*node);
    }
    captures_.begin_in(stream, model, std::move(nodes));
  });
}

bool Recorder::capturing(Handle stream) noexcept {
  bool result = false;
  guarded([&] { result = captures_.capturing(stream); });
  return result;
}

void Recorder::capture_ended(Handle stream, Handle graph) noexcept {
  guarded([&] {
    std::shared_ptr<GraphTemplate> model = captures_.end(
        stream, [&](Handle joined) { return device_->capturing(const_cast<void*>(joined)); });
    if (graph == nullptr) return;
    if (!model) {
      finding(FindingKind::kIncomplete, "hipStreamEndCapture", "the capture's begin was not seen");
      return;
    }
    learn_node_handles(graph, *model, "hipStreamEndCapture");
    graphs_[graph] = std::move(model);
  });
}

// The program may look at a capture's graph, add nodes to it by hand, and have the stream's next
// work follow them.
void Recorder::capture_looked_at(Handle stream, Handle graph) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = captures_.graph_of(stream);
    if (!model) return;
    learn_node_handles(graph, *model, "hipStreamGetCaptureInfo_v2");
    graphs_[graph] = model;
  });
}

void Recorder::capture_depends(Handle stream, const void* const* nodes, size_t count,
                               bool replace) noexcept {
  guarded([&] {
    const char* call = "hipStreamUpdateCaptureDependencies";
    const std::shared_ptr<GraphTemplate> model = captures_.graph_of(stream);
    std::vector<uint32_t> indices;
    for (size_t i = 0; model && i < count; ++i) {
      if (const auto index = model->find(nodes[i])) indices.push_back(*index);
    }
    if (indices.size() != count) {
      finding(FindingKind::kIncomplete, call, "of a node or stream that was not recorded");
      return;
    }
    captures_.depend_on(stream, std::move(indices), replace);
  });
}

// The runtime lists nodes in order of creation. A different number means that a call was captured
// otherwise than the recorder thinks.
void Recorder::learn_node_handles(Handle graph, GraphTemplate& model, const char* call) {
  std::vector<void*> nodes(model.nodes.size() + 1);
  const size_t count = device_->graph_nodes(const_cast<void*>(graph), nodes.data(), nodes.size());
  if (count != model.nodes.size()) {
    finding(FindingKind::kIncomplete, call,
            fmt::format("the graph has {} nodes, {} were recorded", count, model.nodes.size()));
    return;
  }
  for (size_t i = 0; i < count; ++i) model.nodes[i].handle = nodes[i];
}

void Recorder::graph_created(Handle graph) noexcept {
  guarded([&] { graphs_[graph] = std::make_shared<GraphTemplate>(); });
}

void Recorder::graph_destroyed(Handle graph) noexcept {
  guarded([&] {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return;
    const std::shared_ptr<GraphTemplate> model = found->second;
    graphs_.erase(found);
    forget_children(*model);
  });
}

// The handles that hipGraphChildGraphNodeGetGraph gave out die with the parent.
void Recorder::forget_children(const GraphTemplate& model) {
  for (const TemplateNode& node : model.nodes) {
    if (!node.child) continue;
    std::erase_if(graphs_, [&](const auto& entry) { return entry.second == node.child; });
    forget_children(*node.child);
  }
}

void Recorder::child_graph_found(Handle node, Handle graph) noexcept {
  guarded([&] {
    for (const auto& [handle, model] : graphs_) {
      const auto index = model->find(node);
      if (!index || !model->nodes[*index].child) continue;
      const std::shared_ptr<GraphTemplate> child = model->nodes[*index].child;
      learn_node_handles(graph, *child, "hipGraphChildGraphNodeGetGraph");
      graphs_[graph] = child;
      return;
    }
    finding(FindingKind::kIncomplete, "hipGraphChildGraphNodeGetGraph",
            "of a node that was not recorded");
  });
}

std::shared_ptr<GraphTemplate> Recorder::find_graph(Handle graph, const char* call) {
  const auto found = graphs_.find(graph);
  if (found != graphs_.end()) return found->second;
  finding(FindingKind::kIncomplete, call, "of a graph whose making was not seen");
  return nullptr;
}

void Recorder::graph_cloned(Handle clone, Handle original) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = find_graph(original, "hipGraphClone");
    if (!model) return;
    auto copy = std::make_shared<GraphTemplate>();
    // Removed nodes are not cloned: indices move up.
    std::vector<uint32_t> place(model->nodes.size());
    for (size_t i = 0; i < model->nodes.size(); ++i) {
      if (model->nodes[i].removed) continue;
      place[i] = static_cast<uint32_t>(copy->nodes.size());
      copy->nodes.push_back(model->nodes[i]);
      if (TemplateNode& node = copy->nodes.back(); node.child) node.child = deep_copy(*node.child);
    }
    copy->edge_order_known = model->edge_order_known && place.size() == copy->nodes.size();
    if (copy->edge_order_known) copy->edges = model->edges;
    for (TemplateNode& node : copy->nodes) {
      std::erase_if(node.dependencies, [&](uint32_t d) { return model->nodes[d].removed; });
      for (uint32_t& dependency : node.dependencies) dependency = place[dependency];
    }
    learn_node_handles(clone, *copy, "hipGraphClone");
    graphs_[clone] = std::move(copy);
  });
}

void Recorder::clone_node_found(Handle node, Handle original, Handle clone) noexcept {
  guarded([&] {
    const auto found = graphs_.find(clone);
    if (found == graphs_.end()) return;
    // The same position in the graph that holds the original node.
    for (const auto& [handle, model] : graphs_) {
      const auto index = model->find(original);
      if (!index || model == found->second) continue;
      uint32_t position = 0;
      for (uint32_t i = 0; i < *index; ++i) position += model->nodes[i].removed ? 0 : 1;
      if (position < found->second->nodes.size()) found->second->nodes[position].handle = node;
      return;
    }
  });
}

void Recorder::add_node(Handle graph, TemplateNode node, const void* const* dependencies,
                        size_t count, const char* call) {
  const std::shared_ptr<GraphTemplate> model = find_graph(graph, call);
  if (!model) return;
  const auto to = static_cast<uint32_t>(model->nodes.size());
  model->nodes.push_back(std::move(node));
  for (size_t i = 0; i < count; ++i) {
    if (const auto from = model->find(dependencies[i])) {
      model->connect(*from, to);
    } else {
      finding(FindingKind::kIncomplete, call, "depends on a node that was not recorded");
    }
  }
}

// Of a node, which may be launched when other memory lies near its addresses.
void Recorder::note_words(RawAction& action) {
  auto* const launch = std::get_if<RawLaunch>(&action);
  if (launch == nullptr || launch->kernel == nullptr) return;
  std::vector<format::Relocation> words;
  words_.arguments(launch->kernel->slots, launch->kernarg, words);
  launch->words = std::make_shared<const std::vector<format::Relocation>>(std::move(words));
}

void Recorder::node_added(Handle graph, Handle node, const void* const* dependencies, size_t count,
                          RawAction action, const char* call) noexcept {
  guarded([&] {
    TemplateNode added;
    added.handle = node;
    note_words(action);
    added.action = std::move(action);
    add_node(graph, std::move(added), dependencies, count, call);
  });
}

void Recorder::child_node_added(Handle graph, Handle node, const void* const* dependencies,
                                size_t count, Handle child) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = find_graph(child, "hipGraphAddChildGraphNode");
    if (!model) return;
    TemplateNode added;
    added.handle = node;
    added.child = deep_copy(*model);  // the runtime clones it as well
    for (TemplateNode& inner : added.child->nodes) inner.handle = nullptr;
    add_node(graph, std::move(added), dependencies, count, "hipGraphAddChildGraphNode");
  });
}

void Recorder::node_changed(Handle node, RawAction action, const char* call) noexcept {
  guarded([&] {
    note_words(action);
    for (const auto& [handle, model] : graphs_) {
      if (const auto index = model->find(node)) {
        model->nodes[*index].action = std::move(action);
        return;
      }
    }
    finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
  });
}

void Recorder::node_destroyed(Handle node) noexcept {
  guarded([&] {
    for (const auto& [handle, model] : graphs_) {
      if (const auto index = model->find(node)) {
        model->nodes[*index].removed = true;
        return;
      }
    }
    finding(FindingKind::kIncomplete, "hipGraphDestroyNode", "of a node that was not recorded");
  });
}

void Recorder::dependencies_changed(Handle graph, const void* const* from, const void* const* to,
                                    size_t count, bool add) noexcept {
  guarded([&] {
    const char* call = add ? "hipGraphAddDependencies" : "hipGraphRemoveDependencies";
    const std::shared_ptr<GraphTemplate> model = find_graph(graph, call);
    if (!model) return;
    for (size_t i = 0; i < count; ++i) {
      const auto first = model->find(from[i]);
      const auto second = model->find(to[i]);
      if (!first || !second) {
        finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
        continue;
      }
      if (add) {
        model->connect(*first, *second);
      } else {
        model->disconnect(*first, *second);
      }
    }
  });
}

void Recorder::graph_instantiated(Handle executable, Handle graph) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = find_graph(graph, "hipGraphInstantiate");
    if (!model) return;
    std::optional<std::vector<FlatNode>> nodes = flatten(*model);
    if (!nodes) {
      finding(FindingKind::kIncomplete, "hipGraphInstantiate", "the recorded nodes form a cycle");
      return;
    }
    if (child_has_several_ends(*model) &&
        hip_quirk_seen(HipQuirk::kChildEndsNotWaitedFor, facts_.runtime_version)) {
      finding(FindingKind::kNote, "hipGraphInstantiate",
              "a child graph ends with several nodes: this runtime may go on before all are done "
              "(docs/runtime-quirks.md, kChildEndsNotWaitedFor); a replay waits for all");
    }
    if (child_root_behind_another(*model) &&
        hip_quirk_seen(HipQuirk::kChildRootBeginsEarly, facts_.runtime_version)) {
      finding(FindingKind::kNote, "hipGraphInstantiate",
              "a child graph follows nothing in its graph, beside other nodes: this runtime may "
              "begin it before what the stream was given before the graph (docs/runtime-quirks.md, "
              "kChildRootBeginsEarly); a replay waits for that");
    }
    ExecutableGraph& made = executables_[executable];
    made = ExecutableGraph{};
    made.nodes = std::move(*nodes);
  });
}

void Recorder::executable_changed(Handle executable, Handle node, RawAction action,
                                  const char* call) noexcept {
  guarded([&] {
    note_words(action);
    const auto found = executables_.find(executable);
    if (found != executables_.end()) {
      for (FlatNode& flat : found->second.nodes) {
        if (flat.handle == nullptr || flat.handle != node) continue;
        (flat.disabled ? *flat.disabled : flat.action) = std::move(action);
        found->second.changed = true;
        return;
      }
    }
    finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
  });
}

void Recorder::executable_node_enabled(Handle executable, Handle node, bool enabled) noexcept {
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
                    "of another node than before, which this runtime mistakes for the first one");
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
void Recorder::executable_child_changed(Handle executable, Handle node, Handle child) noexcept {
  guarded([&] {
    const char* call = "hipGraphExecChildGraphNodeSetParams";
    const std::shared_ptr<GraphTemplate> model = find_graph(child, call);
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

void Recorder::executable_updated(Handle executable, Handle graph) noexcept {
  guarded([&] {
    const char* call = "hipGraphExecUpdate";
    const std::shared_ptr<GraphTemplate> model = find_graph(graph, call);
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

void Recorder::executable_destroyed(Handle executable) noexcept {
  guarded([&] { executables_.erase(executable); });
}

std::optional<std::vector<format::GraphNode>> Recorder::materialise(const ExecutableGraph& graph,
                                                                    Work& work) {
  std::vector<format::GraphNode> nodes;
  for (const FlatNode& flat : graph.nodes) {
    format::GraphNode& node = nodes.emplace_back();
    node.dependencies = flat.dependencies;
    if (const auto* launch = std::get_if<RawLaunch>(&flat.action)) {
      if (launch->kernel == nullptr) return std::nullopt;  // a finding said why when it was added
      format::Launch made = make_launch(*launch, 0);
      gives(made, work);
      node.action = std::move(made);
    } else if (const auto* copy = std::get_if<RawCopy>(&flat.action)) {
      if (auto made = make_copy(*copy, 0, work)) {
        if (!read_copy_source(*copy, *made))
          finding(FindingKind::kIncomplete, work.call, "a copy node's source cannot be read");
        node.action = std::move(*made);
      }
    } else if (const auto* set = std::get_if<RawMemset>(&flat.action)) {
      if (auto made = make_memset(as_node(*set), 0, work)) node.action = std::move(*made);
    } else if (const auto* function = std::get_if<RawHostFunction>(&flat.action)) {
      node.action = format::HostFunction{0, function->call, 0};
    }
    work.flight_nodes.resize(work.flights.size(), nodes.size() - 1);
  }
  return nodes;
}

// What a runtime does not keep of the program's order may show in what was recorded.
void Recorder::note_lost_edges(const std::vector<format::GraphNode>& nodes) {
  const auto follows_nothing = [](const format::GraphNode& node) {
    return node.dependencies.empty();
  };
  if (hip_quirk_seen(HipQuirk::kRootsBeginEarly, facts_.runtime_version) &&
      std::ranges::count_if(nodes, follows_nothing) > 1) {
    finding(FindingKind::kNote, "hipGraphLaunch",
            "several nodes of the graph follow nothing: this runtime may begin all but the first "
            "before what the stream was given before the launch is done (docs/runtime-quirks.md, "
            "kRootsBeginEarly); a replay waits for that");
  }
  if (!hip_quirk_seen(HipQuirk::kGraphEdgeLost, facts_.runtime_version)) return;
  std::vector<bool> followed(nodes.size());
  for (const format::GraphNode& node : nodes) {
    for (const uint32_t earlier : node.dependencies) {
      if (node.dependencies.size() > 1 && followed[earlier]) {
        finding(FindingKind::kNote, "hipGraphLaunch",
                "this runtime may start a node of several predecessors before one of them is done "
                "(docs/runtime-quirks.md, kGraphEdgeLost): a replay waits for all");
        return;
      }
      followed[earlier] = true;
    }
  }
}

// What each of its host functions tells of the graph: the copies and memsets that it runs behind.
void Recorder::tell_by_functions(const std::vector<format::GraphNode>& nodes, Work& work) {
  for (size_t function = 0; function < nodes.size(); ++function) {
    if (!std::holds_alternative<format::HostFunction>(nodes[function].action)) continue;
    const std::vector<bool> before = nodes_before(nodes, function);
    std::set<size_t>& told = work.told_flights.emplace_back();
    for (size_t i = 0; i < work.flight_nodes.size(); ++i) {
      if (before[work.flight_nodes[i]]) told.insert(i);
    }
  }
}

void Recorder::prepare_graph_launch(Handle executable, Handle stream, Work& work) noexcept {
  work.stream = stream;
  work.call = "hipGraphLaunch";
  work.skip = true;
  guarded([&] {
    if (any_ran_.load(std::memory_order_acquire)) note_runs();
    const Findings::Hold hold(journal_.findings(), work.findings);
    const ReadingFor reading(reading_for_, work.call);
    const auto found = executables_.find(executable);
    if (found == executables_.end()) {
      finding(FindingKind::kIncomplete, work.call, "of a graph that was not recorded");
      return;
    }
    // HIP 5.2 executes the graph instead of capturing its launch.
    if (captures_.capturing(stream) &&
        !hip_quirk_seen(HipQuirk::kGraphLaunchNotCaptured, facts_.runtime_version)) {
      finding(FindingKind::kIncomplete, work.call, "inside a stream capture");
      return;
    }
    ExecutableGraph& graph = found->second;
    if (outside()) {
      fresh_.kernels_run();
      graph.launched = true;
      return;
    }
    const bool same = !graph.changed && !graph.reads_host_memory && graph.id != 0 &&
                      graph.map_generation == map_.generation() && map_.host_visible().empty() &&
                      adopted_.empty();
    work.in_graph = true;
    if (!same) {
      adopt_host_memory(graph, work);
      std::vector<std::shared_ptr<HostCall>> calls;
      for (const FlatNode& node : graph.nodes) {
        if (const auto* function = std::get_if<RawHostFunction>(&node.action)) {
          calls.push_back(function->wrapped);
        }
      }
      work.calls_host = !calls.empty();
      const std::vector<uint64_t> earlier = runs_before(stream_id(stream));
      std::optional<std::vector<format::GraphNode>> nodes = materialise(graph, work);
      if (!nodes) {
        finding(FindingKind::kIncomplete, work.call, "a kernel of the graph is not known");
        return;
      }
      std::vector<std::pair<size_t, DeferredSource>> deferred;
      if (!calls.empty()) {
        check_watched_host_writes();
        tell_by_functions(*nodes, work);
        will_run(work, std::move(calls), executable);
      }
      defer_graph_sources(graph, *nodes, work, earlier, deferred);
      note_lost_edges(*nodes);
      graph.reads_host_memory = work.runs != 0;
      find_events(graph);
      for (const format::GraphNode& node : *nodes) {
        const auto* copy = std::get_if<format::Copy>(&node.action);
        if (copy != nullptr && copy->source.allocation == 0) graph.reads_host_memory = true;
      }
      const format::BlobId now = fingerprint(*nodes);
      const bool own = !deferred.empty() || waits_for_effects(work);
      if (graph.id == 0 || now != graph.fingerprint || own) {
        graph.id = next_graph_++;
        auto made = std::make_unique<format::Graph>(format::Graph{graph.id, std::move(*nodes)});
        for (auto& [index, source] : deferred) {
          source.copy = &std::get<format::Copy>(made->nodes[index].action);
          source.item = made.get();
        }
        const bool early = graph.launched &&
                           hip_quirk_seen(HipQuirk::kHostNodeCalledEarly, facts_.runtime_version);
        for (uint32_t i = 0; i < work.runs; ++i) {
          defer_effect(work.first_run + i, *made, i, early);
        }
        journal_.append(std::move(made));
        for (auto& [index, source] : deferred) defer(std::move(source));
      }
      graph.fingerprint = own ? format::BlobId{} : now;
      // If HIP refuses this launch, its findings are lost: then the next one is looked at again.
      graph.changed = !work.findings.empty();
      graph.map_generation = map_.generation();
    }
    graph.launched = true;
    // Event nodes order the whole graph: more than they ask for, and never less.
    for (const Handle event : graph.waits) {
      append(format::StreamWait{stream_id(stream), event_id(event), 0});
    }
    work.records = graph.records;
    work.action = format::GraphLaunch{graph.id, stream_id(stream), 0};
    reachable_may_be_written(work, stream_id(stream));
    work.skip = false;
    ++report_.graph_launches;
  });
}

}  // namespace gfxgraph::recorder
