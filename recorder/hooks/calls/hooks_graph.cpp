// Hooks of explicit graphs.
#include "recorder/hooks/calls/hooks_graph.h"

using namespace gfxgraph::recorder;

namespace gfxgraph::recorder {

// A kernel node's function is a host stub or a hipFunction_t.
RawAction kernel_action(const hipKernelNodeParams& params, int index) {
  const char* call = display_name(index).data();
  HeldFindings found;
  KernelEntry* kernel = recorder().launches().find_any_kernel(params.func, call, found);
  LaunchShape shape;
  shape.grid = {params.gridDim.x, params.gridDim.y, params.gridDim.z};
  shape.block = {params.blockDim.x, params.blockDim.y, params.blockDim.z};
  shape.dynamic_lds_bytes = params.sharedMemBytes;
  RawLaunch raw = recorder().launches().raw_launch(kernel, shape, params.kernelParams, params.extra,
                                                   call, found);
  recorder().count(found);  // the call that added or changed the node has succeeded
  return raw;
}

RawAction memset_action(const hipMemsetParams& params) {
  RawMemset raw;
  raw.address = address_of(params.dst);
  raw.element_bytes = params.elementSize;
  raw.value = params.value;
  raw.width_elements = params.width;
  raw.height = params.height == 0 ? 1 : params.height;
  raw.pitch_bytes = raw.height > 1 ? params.pitch : 0;
  return raw;
}

RawAction copy_3d_action(const hipMemcpy3DParms& params, int index) {
  RawCopy raw;
  if (!raw_copy_3d(params, raw)) {
    recorder().note_incomplete(display_name(index), "copies an array");
    return {};
  }
  return raw;
}

RawAction driver_copy_action(const HIP_MEMCPY3D& params, int index) {
  RawCopy raw;
  if (!raw_copy_driver_3d(params, raw)) {
    recorder().note_incomplete(display_name(index), "copies an array");
    return {};
  }
  return raw;
}

}  // namespace gfxgraph::recorder

namespace {

RawAction symbol_action(int index, const void* symbol, size_t offset, bool to_symbol,
                        const void* other, size_t bytes) {
  const uint64_t address = recorder().code().symbol_address(symbol);
  if (address == 0) {
    recorder().note_incomplete(display_name(index), "a variable that was not registered");
    return {};
  }
  RawCopy raw;
  raw.width_bytes = bytes;
  raw.variable_of = current_device;
  raw.form = to_symbol ? CopyForm::kToSymbol : CopyForm::kFromSymbol;
  (to_symbol ? raw.destination : raw.source).address = address + offset;
  (to_symbol ? raw.source : raw.destination).address = address_of(other);
  return raw;
}

}  // namespace

// ---- graphs -------------------------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipGraphCreate, recorder().graphs().graph_created(*graph), graph, flags);
}
GFXGRAPH_HOOK hipError_t hipGraphDestroy(hipGraph_t graph) {
  const Scope scope;
  if (scope.record) recorder().graphs().graph_destroyed(graph);
  return real(kCall_hipGraphDestroy, graph);
}
GFXGRAPH_HOOK hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t original) {
  GFXGRAPH_CALL_THEN(hipGraphClone, recorder().graphs().graph_cloned(*clone, original), clone,
                     original);
}
GFXGRAPH_HOOK hipError_t hipGraphNodeFindInClone(hipGraphNode_t* node, hipGraphNode_t original,
                                                 hipGraph_t clone) {
  GFXGRAPH_CALL_THEN(hipGraphNodeFindInClone,
                     recorder().graphs().clone_node_found(*node, original, clone), node, original,
                     clone);
}
GFXGRAPH_HOOK hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  GFXGRAPH_CALL_THEN(hipGraphDestroyNode, recorder().graphs().node_destroyed(node), node);
}
GFXGRAPH_HOOK hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                                 const hipGraphNode_t* to, size_t count) {
  GFXGRAPH_CALL_THEN(
      hipGraphAddDependencies,
      recorder().graphs().dependencies_changed(graph, nodes_of(from), nodes_of(to), count, true),
      graph, from, to, count);
}
GFXGRAPH_HOOK hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                                    const hipGraphNode_t* to, size_t count) {
  GFXGRAPH_CALL_THEN(
      hipGraphRemoveDependencies,
      recorder().graphs().dependencies_changed(graph, nodes_of(from), nodes_of(to), count, false),
      graph, from, to, count);
}

// ---- nodes --------------------------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipGraphAddKernelNode(GFXGRAPH_NODE_PARAMETERS,
                                               const hipKernelNodeParams* params) {
  GFXGRAPH_ADD_NODE(hipGraphAddKernelNode, kernel_action(*params, kCall_hipGraphAddKernelNode),
                    params);
}
GFXGRAPH_HOOK hipError_t hipGraphAddMemcpyNode(GFXGRAPH_NODE_PARAMETERS,
                                               const hipMemcpy3DParms* params) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemcpyNode, copy_3d_action(*params, kCall_hipGraphAddMemcpyNode),
                    params);
}
GFXGRAPH_HOOK hipError_t hipGraphAddMemcpyNode1D(GFXGRAPH_NODE_PARAMETERS, void* destination,
                                                 const void* source, size_t bytes,
                                                 hipMemcpyKind kind) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemcpyNode1D, raw_copy_1d(destination, source, bytes, kind),
                    destination, source, bytes, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphAddMemcpyNodeFromSymbol(GFXGRAPH_NODE_PARAMETERS,
                                                         void* destination, const void* symbol,
                                                         size_t bytes, size_t offset,
                                                         hipMemcpyKind kind) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemcpyNodeFromSymbol,
                    symbol_action(kCall_hipGraphAddMemcpyNodeFromSymbol, symbol, offset, false,
                                  destination, bytes),
                    destination, symbol, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphAddMemcpyNodeToSymbol(GFXGRAPH_NODE_PARAMETERS, const void* symbol,
                                                       const void* source, size_t bytes,
                                                       size_t offset, hipMemcpyKind kind) {
  GFXGRAPH_ADD_NODE(
      hipGraphAddMemcpyNodeToSymbol,
      symbol_action(kCall_hipGraphAddMemcpyNodeToSymbol, symbol, offset, true, source, bytes),
      symbol, source, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphAddMemsetNode(GFXGRAPH_NODE_PARAMETERS,
                                               const hipMemsetParams* params) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemsetNode, memset_action(*params), params);
}
GFXGRAPH_HOOK hipError_t hipGraphAddEmptyNode(GFXGRAPH_NODE_PARAMETERS) {
  GFXGRAPH_ADD_NODE(hipGraphAddEmptyNode, RawAction{});
}
GFXGRAPH_HOOK hipError_t hipGraphAddHostNode(GFXGRAPH_NODE_PARAMETERS,
                                             const hipHostNodeParams* params) {
  const Scope scope;
  const WrappedHostNode host(scope, params);
  GFXGRAPH_ADD_NODE_IN_SCOPE(hipGraphAddHostNode, host.action(kCall_hipGraphAddHostNode),
                             host.given);
}
GFXGRAPH_HOOK hipError_t hipGraphAddChildGraphNode(GFXGRAPH_NODE_PARAMETERS, hipGraph_t child) {
  GFXGRAPH_CALL_THEN(
      hipGraphAddChildGraphNode,
      recorder().graphs().child_node_added(graph, *node, nodes_of(dependencies), count, child),
      node, graph, dependencies, count, child);
}

// The child's own graph: the parent launches the program's changes to it, too.
GFXGRAPH_HOOK hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  GFXGRAPH_CALL_THEN(hipGraphChildGraphNodeGetGraph,
                     recorder().graphs().child_graph_found(node, *graph), node, graph);
}

GFXGRAPH_HOOK hipError_t hipGraphAddEventRecordNode(GFXGRAPH_NODE_PARAMETERS, hipEvent_t event) {
  GFXGRAPH_ADD_NODE(hipGraphAddEventRecordNode, RawEventRecord{event}, event);
}
GFXGRAPH_HOOK hipError_t hipGraphAddEventWaitNode(GFXGRAPH_NODE_PARAMETERS, hipEvent_t event) {
  GFXGRAPH_ADD_NODE(hipGraphAddEventWaitNode, RawEventWait{event}, event);
}

GFXGRAPH_HOOK hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node,
                                                     const hipKernelNodeParams* params) {
  GFXGRAPH_CHANGE_NODE(hipGraphKernelNodeSetParams,
                       kernel_action(*params, kCall_hipGraphKernelNodeSetParams), params);
}
GFXGRAPH_HOOK hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                     const hipMemcpy3DParms* params) {
  GFXGRAPH_CHANGE_NODE(hipGraphMemcpyNodeSetParams,
                       copy_3d_action(*params, kCall_hipGraphMemcpyNodeSetParams), params);
}
GFXGRAPH_HOOK hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* destination,
                                                       const void* source, size_t bytes,
                                                       hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_NODE(hipGraphMemcpyNodeSetParams1D, raw_copy_1d(destination, source, bytes, kind),
                       destination, source, bytes, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node,
                                                               void* destination,
                                                               const void* symbol, size_t bytes,
                                                               size_t offset, hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_NODE(hipGraphMemcpyNodeSetParamsFromSymbol,
                       symbol_action(kCall_hipGraphMemcpyNodeSetParamsFromSymbol, symbol, offset,
                                     false, destination, bytes),
                       destination, symbol, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node,
                                                             const void* symbol, const void* source,
                                                             size_t bytes, size_t offset,
                                                             hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_NODE(
      hipGraphMemcpyNodeSetParamsToSymbol,
      symbol_action(kCall_hipGraphMemcpyNodeSetParamsToSymbol, symbol, offset, true, source, bytes),
      symbol, source, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node,
                                                     const hipMemsetParams* params) {
  GFXGRAPH_CHANGE_NODE(hipGraphMemsetNodeSetParams, memset_action(*params), params);
}
GFXGRAPH_HOOK hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node,
                                                   const hipHostNodeParams* params) {
  const Scope scope;
  const WrappedHostNode host(scope, params);
  GFXGRAPH_CHANGE_NODE_IN_SCOPE(hipGraphHostNodeSetParams,
                                host.action(kCall_hipGraphHostNodeSetParams), host.given);
}
// Returns to the program the values it passed.
GFXGRAPH_HOOK hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* params) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGraphHostNodeGetParams, node, params);
  if (result == hipSuccess && params->fn == &run_host_function) {
    const HostCall& wrapped = *static_cast<const HostCall*>(params->userData);
    params->fn = reinterpret_cast<hipHostFn_t>(wrapped.function);
    params->userData = wrapped.data;
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  GFXGRAPH_CHANGE_NODE(hipGraphEventRecordNodeSetEvent, RawEventRecord{event}, event);
}
GFXGRAPH_HOOK hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  GFXGRAPH_CHANGE_NODE(hipGraphEventWaitNodeSetEvent, RawEventWait{event}, event);
}

// ---- executable graphs --------------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable,
                                                         hipGraphNode_t node,
                                                         const hipKernelNodeParams* params) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecKernelNodeSetParams,
                             kernel_action(*params, kCall_hipGraphExecKernelNodeSetParams), params);
}
GFXGRAPH_HOOK hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t executable,
                                                         hipGraphNode_t node,
                                                         hipMemcpy3DParms* params) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecMemcpyNodeSetParams,
                             copy_3d_action(*params, kCall_hipGraphExecMemcpyNodeSetParams),
                             params);
}
GFXGRAPH_HOOK hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t executable,
                                                           hipGraphNode_t node, void* destination,
                                                           const void* source, size_t bytes,
                                                           hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecMemcpyNodeSetParams1D,
                             raw_copy_1d(destination, source, bytes, kind), destination, source,
                             bytes, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(
    hipGraphExec_t executable, hipGraphNode_t node, void* destination, const void* symbol,
    size_t bytes, size_t offset, hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecMemcpyNodeSetParamsFromSymbol,
                             symbol_action(kCall_hipGraphExecMemcpyNodeSetParamsFromSymbol, symbol,
                                           offset, false, destination, bytes),
                             destination, symbol, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(
    hipGraphExec_t executable, hipGraphNode_t node, const void* symbol, const void* source,
    size_t bytes, size_t offset, hipMemcpyKind kind) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecMemcpyNodeSetParamsToSymbol,
                             symbol_action(kCall_hipGraphExecMemcpyNodeSetParamsToSymbol, symbol,
                                           offset, true, source, bytes),
                             symbol, source, bytes, offset, kind);
}
GFXGRAPH_HOOK hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t executable,
                                                         hipGraphNode_t node,
                                                         const hipMemsetParams* params) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecMemsetNodeSetParams, memset_action(*params), params);
}
GFXGRAPH_HOOK hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t executable,
                                                       hipGraphNode_t node,
                                                       const hipHostNodeParams* params) {
  const Scope scope;
  const WrappedHostNode host(scope, params);
  GFXGRAPH_CHANGE_EXECUTABLE_IN_SCOPE(hipGraphExecHostNodeSetParams,
                                      host.action(kCall_hipGraphExecHostNodeSetParams), host.given);
}

GFXGRAPH_HOOK hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t executable,
                                                             hipGraphNode_t node,
                                                             hipEvent_t event) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecEventRecordNodeSetEvent, RawEventRecord{event}, event);
}
GFXGRAPH_HOOK hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t executable,
                                                           hipGraphNode_t node, hipEvent_t event) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecEventWaitNodeSetEvent, RawEventWait{event}, event);
}
GFXGRAPH_HOOK hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t executable,
                                                             hipGraphNode_t node,
                                                             hipGraph_t child) {
  GFXGRAPH_CALL_THEN(hipGraphExecChildGraphNodeSetParams,
                     recorder().executables().child_changed(executable, node, child), executable,
                     node, child);
}

GFXGRAPH_HOOK hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                             hipGraphNode_t* error_node, char* log, size_t size) {
  GFXGRAPH_CALL_THEN(hipGraphInstantiate, recorder().executables().instantiated(*executable, graph),
                     executable, graph, error_node, log, size);
}
GFXGRAPH_HOOK hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                                      unsigned long long flags) {
  GFXGRAPH_CALL_THEN(hipGraphInstantiateWithFlags,
                     recorder().executables().instantiated(*executable, graph), executable, graph,
                     flags);
}
// HIP 6.1: the parameters are an opaque structure here.
GFXGRAPH_NEWER_HOOK(hipGraphInstantiateWithParams, hipGraphExec_t* executable, hipGraph_t graph,
                    void* params) {
  GFXGRAPH_CALL_THEN(hipGraphInstantiateWithParams,
                     recorder().executables().instantiated(*executable, graph), executable, graph,
                     params);
}
GFXGRAPH_HOOK hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph,
                                            hipGraphNode_t* error_node,
                                            hipGraphExecUpdateResult* update) {
  GFXGRAPH_CALL_THEN(hipGraphExecUpdate, recorder().executables().updated(executable, graph),
                     executable, graph, error_node, update);
}
GFXGRAPH_HOOK hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  const Scope scope;
  if (scope.record) recorder().executables().destroyed(executable);
  return real(kCall_hipGraphExecDestroy, executable);
}

namespace {

template <typename Call>
hipError_t launch_graph(hipGraphExec_t executable, Handle stream, Call&& call,
                        const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kMayJoin, site);
  if (!scope.record) return call();
  const Turn turn{{.executable = executable, .stream = stream}};
  Work work;
  recorder().work().prepare_graph_launch(executable, stream, work);
  const hipError_t result = call();
  if (result == hipSuccess) recorder().commit(work);
  return turn.ended(result);
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return launch_graph(executable, stream_key(stream),
                      [&] { return real(kCall_hipGraphLaunch, executable, stream); });
}
GFXGRAPH_HOOK hipError_t hipGraphLaunch_spt(hipGraphExec_t executable, hipStream_t stream) {
  return launch_graph(executable, per_thread_key(stream),
                      [&] { return real(kCall_hipGraphLaunch_spt, executable, stream); });
}
