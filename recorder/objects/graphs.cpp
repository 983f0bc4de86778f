#include "recorder/objects/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hip_quirks.h"
#include "recorder/objects/code_registry.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

using format::FindingKind;

namespace {

// A kernel node stays cooperative when its parameters change, because that is an attribute.
void keep_attributes(const RawAction& before, RawAction& now) {
  const auto* const launch = std::get_if<RawLaunch>(&before);
  auto* const changed = std::get_if<RawLaunch>(&now);
  if (launch != nullptr && changed != nullptr)
    changed->shape.cooperative = launch->shape.cooperative;
  const auto* const copy = std::get_if<RawCopy>(&before);
  auto* const changed_copy = std::get_if<RawCopy>(&now);
  if (copy != nullptr && changed_copy != nullptr) changed_copy->form = copy->form;
}

// The runtimes differ in whether such a node moves to the current device.
constexpr const char* kMoved =
    "of a kernel node, while another device is current than it was made on";
bool moves(const RawAction& before, const RawAction& now) {
  const auto* const first = std::get_if<RawLaunch>(&before);
  const auto* const second = std::get_if<RawLaunch>(&now);
  return first != nullptr && second != nullptr && first->kernel != nullptr &&
         second->kernel != nullptr &&
         first->kernel->module->device != second->kernel->module->device;
}

constexpr const char* kOtherForm =
    "of a copy node that a call of another form made (1D, 3D, symbol, driver): this runtime may "
    "ignore the parameters, or write past the node (docs/runtime-quirks.md, kCopyNodeOfOtherForm)";
bool other_form(const RawAction& before, const RawAction& now) {
  const auto* const first = std::get_if<RawCopy>(&before);
  const auto* const second = std::get_if<RawCopy>(&now);
  return first != nullptr && second != nullptr && first->form != second->form &&
         first->form != CopyForm::kUnknown && second->form != CopyForm::kUnknown;
}

}  // namespace

void Graphs::capture_begins(Handle stream) noexcept {
  guarded([&] { captures_.begin(stream); });
}

void Graphs::capture_begins_in(Handle stream, Handle graph, const Handle* dependencies,
                               size_t count) noexcept {
  guarded([&] {
    const char* call = "hipStreamBeginCaptureToGraph";
    const std::shared_ptr<GraphTemplate> model = find(graph, call);
    if (!model) return;
    std::vector<uint32_t> nodes;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<uint32_t> node = model->find(dependencies[i]);
      if (!node) {
        finding(FindingKind::kIncomplete, call, "after a node that was not recorded");
        return;
      }
      nodes.push_back(*node);
    }
    captures_.begin_in(stream, model, std::move(nodes));
  });
}

bool Graphs::capturing(Handle stream) noexcept {
  bool result = false;
  guarded([&] { result = captures_.capturing(stream); });
  return result;
}

bool Graphs::any_capture() noexcept {
  bool result = false;
  guarded([&] { result = captures_.any(); });
  return result;
}

void Graphs::captured(Handle stream, RawAction action) noexcept {
  guarded([&] { captures_.add(stream, std::move(action)); });
}

void Graphs::capture_ended(Handle stream, Handle graph) noexcept {
  guarded([&] {
    std::shared_ptr<GraphTemplate> model = captures_.end(
        stream, [&](Handle joined) { return device_.capturing(const_cast<void*>(joined)); });
    if (graph == nullptr) return;
    if (!model) {
      finding(FindingKind::kIncomplete, "hipStreamEndCapture", "the capture's begin was not seen");
      return;
    }
    learn_node_handles(graph, *model, "hipStreamEndCapture");
    graphs_[graph] = std::move(model);
  });
}

// The program may get a capture's graph, add nodes to it by hand, and make the stream's next work
// depend on them.
void Graphs::capture_looked_at(Handle stream, Handle graph) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = captures_.graph_of(stream);
    if (!model) return;
    learn_node_handles(graph, *model, "hipStreamGetCaptureInfo_v2");
    graphs_[graph] = model;
  });
}

void Graphs::capture_depends(Handle stream, const void* const* nodes, size_t count,
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

// The runtime lists nodes in order of creation. A different count means that the runtime captured a
// call differently from the recorder's model.
void Graphs::learn_node_handles(Handle graph, GraphTemplate& model, const char* call) {
  std::vector<void*> nodes(model.nodes.size() + 1);
  const size_t count = device_.graph_nodes(const_cast<void*>(graph), nodes.data(), nodes.size());
  if (count != model.nodes.size()) {
    finding(FindingKind::kIncomplete, call,
            fmt::format("the graph has {} nodes, {} were recorded", count, model.nodes.size()));
    return;
  }
  for (size_t i = 0; i < count; ++i) model.nodes[i].handle = nodes[i];
}

void Graphs::graph_created(Handle graph) noexcept {
  guarded([&] { graphs_[graph] = std::make_shared<GraphTemplate>(); });
}

void Graphs::graph_destroyed(Handle graph) noexcept {
  guarded([&] {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) return;
    const std::shared_ptr<GraphTemplate> model = found->second;
    graphs_.erase(found);
    forget_children(*model);
  });
}

// The handles that hipGraphChildGraphNodeGetGraph returned become invalid with the parent.
void Graphs::forget_children(const GraphTemplate& model) {
  for (const TemplateNode& node : model.nodes) {
    if (!node.child) continue;
    std::erase_if(graphs_, [&](const auto& entry) { return entry.second == node.child; });
    forget_children(*node.child);
  }
}

void Graphs::child_graph_found(Handle node, Handle graph) noexcept {
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

std::shared_ptr<GraphTemplate> Graphs::find(Handle graph, const char* call) {
  const auto found = graphs_.find(graph);
  if (found != graphs_.end()) return found->second;
  finding(FindingKind::kIncomplete, call, "of a graph whose creation was not seen");
  return nullptr;
}

void Graphs::graph_cloned(Handle clone, Handle original) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = find(original, "hipGraphClone");
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

void Graphs::clone_node_found(Handle node, Handle original, Handle clone) noexcept {
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

void Graphs::add_node(Handle graph, TemplateNode node, const void* const* dependencies,
                      size_t count, const char* call) {
  const std::shared_ptr<GraphTemplate> model = find(graph, call);
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

// Resolves the pointers of a node now: at its launch, other memory may lie at their addresses.
void Graphs::note_words(RawAction& action) {
  auto* const launch = std::get_if<RawLaunch>(&action);
  if (launch == nullptr || launch->kernel == nullptr) return;
  std::vector<format::Relocation> words;
  words_.arguments(launch->kernel->slots, launch->kernarg, words);
  launch->words = std::make_shared<const std::vector<format::Relocation>>(std::move(words));
}

void Graphs::node_added(Handle graph, Handle node, const void* const* dependencies, size_t count,
                        RawAction action, const char* call) noexcept {
  guarded([&] {
    TemplateNode added;
    added.handle = node;
    note_words(action);
    added.action = std::move(action);
    add_node(graph, std::move(added), dependencies, count, call);
  });
}

void Graphs::child_node_added(Handle graph, Handle node, const void* const* dependencies,
                              size_t count, Handle child) noexcept {
  guarded([&] {
    const std::shared_ptr<GraphTemplate> model = find(child, "hipGraphAddChildGraphNode");
    if (!model) return;
    TemplateNode added;
    added.handle = node;
    added.child = deep_copy(*model);  // the runtime clones it as well
    for (TemplateNode& inner : added.child->nodes) inner.handle = nullptr;
    add_node(graph, std::move(added), dependencies, count, "hipGraphAddChildGraphNode");
  });
}

void Graphs::change(RawAction& own, RawAction action, const char* call) {
  note_words(action);
  if (moves(own, action)) finding(FindingKind::kIncomplete, call, kMoved);
  if (other_form(own, action) &&
      hip_quirk_seen(HipQuirk::kCopyNodeOfOtherForm, facts_.runtime_version)) {
    finding(FindingKind::kIncomplete, call, kOtherForm);
  }
  keep_attributes(own, action);
  own = std::move(action);
}

void Graphs::node_changed(Handle node, RawAction action, const char* call) noexcept {
  guarded([&] {
    for (const auto& [handle, model] : graphs_) {
      if (const auto index = model->find(node)) {
        return change(model->nodes[*index].action, std::move(action), call);
      }
    }
    finding(FindingKind::kIncomplete, call, "of a node that was not recorded");
  });
}

RawLaunch* Graphs::find_launch(Handle node, const char* call) {
  for (const auto& [handle, model] : graphs_) {
    const auto index = model->find(node);
    RawLaunch* const launch =
        index ? std::get_if<RawLaunch>(&model->nodes[*index].action) : nullptr;
    if (launch != nullptr) return launch;
  }
  finding(FindingKind::kIncomplete, call, "of a kernel node that was not recorded");
  return nullptr;
}

void Graphs::node_made_cooperative(Handle node, bool cooperative) noexcept {
  guarded([&] {
    RawLaunch* const launch = find_launch(node, "hipGraphKernelNodeSetAttribute");
    if (launch != nullptr) launch->shape.cooperative = cooperative;
  });
}

void Graphs::node_cooperative_as(Handle node, Handle other, const char* call) noexcept {
  guarded([&] {
    RawLaunch* const launch = find_launch(node, call);
    const RawLaunch* const from = find_launch(other, call);
    if (launch != nullptr && from != nullptr) launch->shape.cooperative = from->shape.cooperative;
  });
}

void Graphs::node_destroyed(Handle node) noexcept {
  guarded([&] {
    for (const auto& [handle, model] : graphs_) {
      if (const auto index = model->find(node)) {
        model->remove(*index);
        return;
      }
    }
    finding(FindingKind::kIncomplete, "hipGraphDestroyNode", "of a node that was not recorded");
  });
}

void Graphs::dependencies_changed(Handle graph, const void* const* from, const void* const* to,
                                  size_t count, bool add) noexcept {
  guarded([&] {
    const char* call = add ? "hipGraphAddDependencies" : "hipGraphRemoveDependencies";
    const std::shared_ptr<GraphTemplate> model = find(graph, call);
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

}  // namespace gfxgraph::recorder
