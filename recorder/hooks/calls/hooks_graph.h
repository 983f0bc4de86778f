// Shared code of the graph hooks: translates HIP's descriptions of nodes, and passes them to the
// recorder.
#pragma once

#include <memory>

#include "recorder/hooks/calls/hooks_internal.h"
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

// The action is made after the real call has taken the parameters, and only if it did.
template <typename Action>
hipError_t added(const Scope& scope, hipError_t result, int index, hipGraph_t graph,
                 const hipGraphNode_t* node, const hipGraphNode_t* dependencies, size_t count,
                 Action&& action) {
  if (scope.record && result == hipSuccess) {
    recorder().graphs().node_added(graph, *node, nodes_of(dependencies), count, action(),
                                   display_name(index).data());
  }
  return result;
}

template <typename Action>
hipError_t node_changed(const Scope& scope, hipError_t result, int index, hipGraphNode_t node,
                        Action&& action) {
  if (scope.record && result == hipSuccess) {
    recorder().graphs().node_changed(node, action(), display_name(index).data());
  }
  return result;
}

template <typename Action>
hipError_t executable_changed(const Scope& scope, hipError_t result, int index,
                              hipGraphExec_t executable, hipGraphNode_t node, Action&& action) {
  if (scope.record && result == hipSuccess) {
    recorder().executables().changed(executable, node, action(), display_name(index).data());
  }
  return result;
}

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
