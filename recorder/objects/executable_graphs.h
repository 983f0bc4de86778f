// The program's executable graphs, as described by the calls that make and change them. Their
// launches are device work, which the recorder handles.
#pragma once

#include <unordered_map>

#include "recorder/core.h"
#include "recorder/handle.h"
#include "recorder/objects/graph_model.h"
#include "recorder/objects/graphs.h"

namespace gfxgraph::recorder {

// Public methods marked noexcept are for hooks, after the real call: they take the lock. The others
// require it.
class ExecutableGraphs : private Part {
 public:
  ExecutableGraphs(const Core& core, Graphs& graphs) noexcept : Part(core), graphs_(graphs) {}

  void instantiated(Handle executable, Handle graph) noexcept;
  void changed(Handle executable, Handle node, RawAction action, const char* call) noexcept;
  void node_enabled(Handle executable, Handle node, bool enabled) noexcept;
  void child_changed(Handle executable, Handle node, Handle child) noexcept;
  void updated(Handle executable, Handle graph) noexcept;
  void destroyed(Handle executable) noexcept;

  bool any() const { return !executables_.empty(); }
  // nullptr: its creation was not seen.
  ExecutableGraph* find(Handle executable);
  // Numbers of this trace are not valid in the next one.
  void number_anew();

 private:
  Graphs& graphs_;
  std::unordered_map<Handle, ExecutableGraph> executables_;
};

}  // namespace gfxgraph::recorder
