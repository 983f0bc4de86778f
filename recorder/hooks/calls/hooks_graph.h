// Shared code of the graph hooks: translates HIP's descriptions of nodes, and passes them to the
// recorder.
#pragma once

#include <memory>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

inline const void* const* nodes_of(const hipGraphNode_t* nodes) {
  return reinterpret_cast<const void* const*>(nodes);
}

// `index` is the row of the call that describes the node (hip_calls.h). Its findings are counted at
// once: the call has succeeded.
RawAction kernel_action(const hipKernelNodeParams& params, int index);
RawAction memset_action(const hipMemsetParams& params);
RawAction copy_3d_action(const hipMemcpy3DParms& params, int index);
RawAction driver_copy_action(const HIP_MEMCPY3D& params, int index);
// hooks_nodes.cpp
RawAction value_list_action(const BatchNodeParams& params);

#define GFXGRAPH_NODE_PARAMETERS \
  hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count

// Bodies of hooks that add or change a node; those with IN_SCOPE follow a Scope. `action` is
// evaluated after the real call, as GFXGRAPH_CALL_THEN says.
#define GFXGRAPH_ADD_NODE(name, ...) \
  const Scope scope;                 \
  GFXGRAPH_ADD_NODE_IN_SCOPE(name, __VA_ARGS__)
#define GFXGRAPH_ADD_NODE_IN_SCOPE(name, action, ...)                                     \
  GFXGRAPH_CALL_IN_SCOPE(                                                                 \
      name,                                                                               \
      recorder().graphs().node_added(graph, *node, nodes_of(dependencies), count, action, \
                                     display_name(kCall_##name).data()),                  \
      node, graph, dependencies, count __VA_OPT__(, ) __VA_ARGS__)
#define GFXGRAPH_CHANGE_NODE(name, ...) \
  const Scope scope;                    \
  GFXGRAPH_CHANGE_NODE_IN_SCOPE(name, __VA_ARGS__)
#define GFXGRAPH_CHANGE_NODE_IN_SCOPE(name, action, ...)                                       \
  GFXGRAPH_CALL_IN_SCOPE(                                                                      \
      name, recorder().graphs().node_changed(node, action, display_name(kCall_##name).data()), \
      node, __VA_ARGS__)
#define GFXGRAPH_CHANGE_EXECUTABLE(name, ...) \
  const Scope scope;                          \
  GFXGRAPH_CHANGE_EXECUTABLE_IN_SCOPE(name, __VA_ARGS__)
#define GFXGRAPH_CHANGE_EXECUTABLE_IN_SCOPE(name, action, ...)                                \
  GFXGRAPH_CALL_IN_SCOPE(name,                                                                \
                         recorder().executables().changed(executable, node, action,           \
                                                          display_name(kCall_##name).data()), \
                         executable, node, __VA_ARGS__)

// A host node calls the program's function through the recorder's, which reports when it runs.
struct WrappedHostNode {
  WrappedHostNode(const Scope& scope, const hipHostNodeParams* from) : given(from) {
    const auto read = scope.record ? read_given(from) : std::nullopt;
    if (!read || read->fn == nullptr) return;
    wrapped = recorder().host_runs().wrap_host_function(reinterpret_cast<void*>(read->fn),
                                                        read->userData, true);
    if (!wrapped) return;
    own.fn = &run_host_function;
    own.userData = wrapped.get();
    given = &own;
  }
  RawAction action(int index) const { return RawHostFunction{display_name(index).data(), wrapped}; }
  std::shared_ptr<HostCall> wrapped;
  hipHostNodeParams own{};
  const hipHostNodeParams* given;
};

}  // namespace gfxgraph::recorder
