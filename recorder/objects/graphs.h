// The program's captures and explicit graphs, as described by the calls that make and change them.
#pragma once

#include <memory>
#include <unordered_map>

#include "pointers/word_resolver.h"
#include "recorder/core.h"
#include "recorder/handle.h"
#include "recorder/objects/graph_model.h"

namespace gfxgraph::recorder {

// Public methods marked noexcept are for hooks, after the real call: they take the lock. The others
// require it.
class Graphs : private Part {
 public:
  // `words`: the targets of the words of a node's launch when it is made.
  Graphs(const Core& core, const pointers::WordResolver& words) noexcept
      : Part(core), words_(words) {}

  void capture_begins(Handle stream) noexcept;
  void capture_begins_in(Handle stream, Handle graph, const Handle* dependencies,
                         size_t count) noexcept;
  void capture_ended(Handle stream, Handle graph) noexcept;  // graph nullptr: it failed
  bool capturing(Handle stream) noexcept;
  bool any_capture() noexcept;
  void capture_looked_at(Handle stream, Handle graph) noexcept;
  // A call of a capturing stream, of which a trace has nothing but its place in the order.
  void captured(Handle stream, RawAction action) noexcept;
  void capture_depends(Handle stream, const void* const* nodes, size_t count,
                       bool replace) noexcept;
  void graph_created(Handle graph) noexcept;
  void graph_destroyed(Handle graph) noexcept;
  void graph_cloned(Handle clone, Handle original) noexcept;
  void child_graph_found(Handle node, Handle graph) noexcept;
  void clone_node_found(Handle node, Handle original, Handle clone) noexcept;
  void node_added(Handle graph, Handle node, const void* const* dependencies, size_t count,
                  RawAction action, const char* call) noexcept;
  void child_node_added(Handle graph, Handle node, const void* const* dependencies, size_t count,
                        Handle child) noexcept;
  void node_changed(Handle node, RawAction action, const char* call) noexcept;
  void node_made_cooperative(Handle node, bool cooperative) noexcept;
  void node_cooperative_as(Handle node, Handle other, const char* call) noexcept;
  void node_destroyed(Handle node) noexcept;
  void dependencies_changed(Handle graph, const void* const* from, const void* const* to,
                            size_t count, bool add) noexcept;

  bool any() const { return !graphs_.empty() || captures_.any(); }
  Captures& captures() noexcept { return captures_; }
  const Captures& captures() const noexcept { return captures_; }
  // nullptr, with a finding: its creation was not seen.
  std::shared_ptr<GraphTemplate> find(Handle graph, const char* call);
  // A call changes the parameters of a node, of a graph or an executable one.
  void change(RawAction& own, RawAction action, const char* call);
  // Of a node, which may be launched when other memory lies near its addresses.
  void note_words(RawAction& action);

 private:
  // Of a kernel node; nullptr, with a finding: it was not recorded.
  RawLaunch* find_launch(Handle node, const char* call);
  void forget_children(const GraphTemplate& model);
  void learn_node_handles(Handle graph, GraphTemplate& model, const char* call);
  void add_node(Handle graph, TemplateNode node, const void* const* dependencies, size_t count,
                const char* call);

  const pointers::WordResolver& words_;
  Captures captures_;
  std::unordered_map<Handle, std::shared_ptr<GraphTemplate>> graphs_;
};

}  // namespace gfxgraph::recorder
