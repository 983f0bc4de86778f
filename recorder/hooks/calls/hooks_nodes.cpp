// Hooks of the newer ways to describe graph nodes: HIP 5.7's attributes and disabled nodes, HIP 6's
// generic calls and those of the driver interface.
#include <cstring>
#include <span>
#include <vector>

#include "recorder/hooks/calls/hooks_graph.h"
#include "recorder/hooks/calls/newer_hip.h"

using namespace gfxgraph::recorder;

namespace {

RawAction memory_action(const MemoryNodeParams& made) {
  recorder().buffers().graph_memory(address_of(made.address), made.size_bytes, current_device);
  return RawGraphMemory{address_of(made.address), false};
}

// The parameters of a generic node call. The function of a host node is replaced by a wrapper.
class GenericNode {
 public:
  GenericNode(const Scope& scope, const GraphNodeParams* params)
      : given_(params), read_(read_given(params)), host_(scope, host_of(params)) {
    if (host_.wrapped == nullptr) return;
    read_->host = host_.own;
    given_ = &*read_;
  }
  const GraphNodeParams* given() const { return given_; }

  // The child graph, if it has one.
  hipGraph_t child() const { return given_->type == NodeType::kGraph ? given_->graph : nullptr; }

  RawAction action(int index) const {
    switch (given_->type) {
      case NodeType::kKernel: return kernel_action(given_->kernel, index);
      case NodeType::kMemcpy: return copy_3d_action(given_->memcpy.params, index);
      case NodeType::kMemset: return memset_action(given_->memset);
      case NodeType::kHost: return host_.action(index);
      case NodeType::kWaitEvent: return RawEventWait{given_->event};
      case NodeType::kEventRecord: return RawEventRecord{given_->event};
      case NodeType::kEmpty: return {};
      case NodeType::kMemoryAlloc: return memory_action(given_->memory);
      case NodeType::kMemoryFree: return RawGraphMemory{address_of(given_->freed), true};
      case NodeType::kGraph: break;  // child()
    }
    recorder().note_incomplete(display_name(index), "of a kind of node that is not recorded");
    return {};
  }

 private:
  const hipHostNodeParams* host_of(const GraphNodeParams* params) const {
    return read_ && read_->type == NodeType::kHost ? &params->host : nullptr;
  }

  const GraphNodeParams* given_;
  std::optional<GraphNodeParams> read_;
  WrappedHostNode host_;
};

std::vector<RawListedValue> values_of(std::span<const std::byte> bytes) {
  std::vector<RawListedValue> values;
  for (; bytes.size() >= sizeof(BatchMemOp); bytes = bytes.subspan(sizeof(BatchMemOp))) {
    BatchMemOp one;
    std::memcpy(&one, bytes.data(), sizeof one);
    const bool writes =
        one.operation == BatchMemOp::kWrite32 || one.operation == BatchMemOp::kWrite64;
    const bool waits = one.operation == BatchMemOp::kWait32 || one.operation == BatchMemOp::kWait64;
    const bool wide = one.operation == BatchMemOp::kWrite64 || one.operation == BatchMemOp::kWait64;
    RawListedValue& value = values.emplace_back();
    if (writes) value.kind = RawListedValue::Kind::kWrite;
    if (waits) value.kind = RawListedValue::Kind::kWait;
    value.address = address_of(one.address);
    value.size_bytes = wide ? 8 : 4;
    value.value = wide ? one.value : static_cast<uint32_t>(one.value);
    value.condition = one.flags;
  }
  return values;
}

RawAction driver_memset_action(const void* params) {
  if (runtime_major() >= 7) return memset_action(*static_cast<const hipMemsetParams*>(params));
  const auto& from = *static_cast<const DriverMemsetParams*>(params);
  hipMemsetParams same{};
  same.dst = from.dst;
  same.elementSize = from.elementSize;
  same.height = from.height;
  same.pitch = from.pitch;
  same.value = from.value;
  same.width = from.width;
  return memset_action(same);
}

}  // namespace

RawAction gfxgraph::recorder::value_list_action(const BatchNodeParams& params) {
  RawValueList list;
  list.address = address_of(params.operations);
  list.size_bytes = params.count * sizeof(BatchMemOp);
  list.parse = values_of;
  list.given = values_of(std::as_bytes(std::span(params.operations, params.count)));
  return list;
}

// ---- HIP 6: one call for all kinds of nodes -----------------------------------------------------

GFXGRAPH_NEWER_HOOK(hipGraphAddNode, GFXGRAPH_NODE_PARAMETERS, const GraphNodeParams* params) {
  const Scope scope;
  const GenericNode generic(scope, params);
  const hipError_t result =
      real(kCall_hipGraphAddNode, node, graph, dependencies, count, generic.given());
  if (!scope.record || result != hipSuccess) return result;
  if (generic.child() != nullptr) {
    recorder().graphs().child_node_added(graph, *node, nodes_of(dependencies), count,
                                         generic.child());
  } else {
    recorder().graphs().node_added(graph, *node, nodes_of(dependencies), count,
                                   generic.action(kCall_hipGraphAddNode), "hipGraphAddNode");
  }
  return result;
}

// HIP gives a child graph node no other graph by this call.
GFXGRAPH_NEWER_HOOK(hipGraphNodeSetParams, hipGraphNode_t node, const GraphNodeParams* params) {
  const Scope scope;
  const GenericNode generic(scope, params);
  GFXGRAPH_CHANGE_NODE_IN_SCOPE(hipGraphNodeSetParams, generic.action(kCall_hipGraphNodeSetParams),
                                generic.given());
}

GFXGRAPH_NEWER_HOOK(hipGraphExecNodeSetParams, hipGraphExec_t executable, hipGraphNode_t node,
                    const GraphNodeParams* params) {
  const Scope scope;
  const GenericNode generic(scope, params);
  const hipError_t result =
      real(kCall_hipGraphExecNodeSetParams, executable, node, generic.given());
  if (!scope.record || result != hipSuccess) return result;
  if (generic.child() != nullptr) {
    recorder().executables().child_changed(executable, node, generic.child());
  } else {
    recorder().executables().changed(executable, node,
                                     generic.action(kCall_hipGraphExecNodeSetParams),
                                     "hipGraphExecNodeSetParams");
  }
  return result;
}

// ---- the driver interface -----------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipDrvGraphAddMemcpyNode(GFXGRAPH_NODE_PARAMETERS,
                                                  const HIP_MEMCPY3D* params, hipCtx_t context) {
  GFXGRAPH_ADD_NODE(hipDrvGraphAddMemcpyNode,
                    driver_copy_action(*params, kCall_hipDrvGraphAddMemcpyNode), params, context);
}

GFXGRAPH_NEWER_HOOK(hipDrvGraphAddMemsetNode, GFXGRAPH_NODE_PARAMETERS, const void* params,
                    hipCtx_t context) {
  GFXGRAPH_ADD_NODE(hipDrvGraphAddMemsetNode, driver_memset_action(params), params, context);
}

GFXGRAPH_HOOK hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                        const HIP_MEMCPY3D* params) {
  GFXGRAPH_CHANGE_NODE(hipDrvGraphMemcpyNodeSetParams,
                       driver_copy_action(*params, kCall_hipDrvGraphMemcpyNodeSetParams), params);
}

GFXGRAPH_HOOK hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t executable,
                                                            hipGraphNode_t node,
                                                            const HIP_MEMCPY3D* params,
                                                            hipCtx_t context) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipDrvGraphExecMemcpyNodeSetParams,
                             driver_copy_action(*params, kCall_hipDrvGraphExecMemcpyNodeSetParams),
                             params, context);
}

GFXGRAPH_NEWER_HOOK(hipDrvGraphExecMemsetNodeSetParams, hipGraphExec_t executable,
                    hipGraphNode_t node, const void* params, hipCtx_t context) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipDrvGraphExecMemsetNodeSetParams, driver_memset_action(params),
                             params, context);
}

// ---- memory of graphs ---------------------------------------------------------------------------

GFXGRAPH_NEWER_HOOK(hipGraphAddMemAllocNode, GFXGRAPH_NODE_PARAMETERS, MemoryNodeParams* params) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemAllocNode, memory_action(*params), params);
}

GFXGRAPH_HOOK hipError_t hipGraphAddMemFreeNode(GFXGRAPH_NODE_PARAMETERS, void* pointer) {
  GFXGRAPH_ADD_NODE(hipGraphAddMemFreeNode, (RawGraphMemory{address_of(pointer), true}), pointer);
}

GFXGRAPH_HOOK hipError_t hipDrvGraphAddMemFreeNode(GFXGRAPH_NODE_PARAMETERS,
                                                   hipDeviceptr_t pointer) {
  GFXGRAPH_ADD_NODE(hipDrvGraphAddMemFreeNode, (RawGraphMemory{address_of(pointer), true}),
                    pointer);
}

// ---- values that are written and waited for -----------------------------------------------------

GFXGRAPH_NEWER_HOOK(hipGraphAddBatchMemOpNode, GFXGRAPH_NODE_PARAMETERS,
                    const BatchNodeParams* params) {
  GFXGRAPH_ADD_NODE(hipGraphAddBatchMemOpNode, value_list_action(*params), params);
}

GFXGRAPH_NEWER_HOOK(hipGraphBatchMemOpNodeSetParams, hipGraphNode_t node, BatchNodeParams* params) {
  GFXGRAPH_CHANGE_NODE(hipGraphBatchMemOpNodeSetParams, value_list_action(*params), params);
}

GFXGRAPH_NEWER_HOOK(hipGraphExecBatchMemOpNodeSetParams, hipGraphExec_t executable,
                    hipGraphNode_t node, const BatchNodeParams* params) {
  GFXGRAPH_CHANGE_EXECUTABLE(hipGraphExecBatchMemOpNodeSetParams, value_list_action(*params),
                             params);
}

// ---- HIP 5.7: disabled nodes, attributes --------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipGraphNodeSetEnabled(hipGraphExec_t executable, hipGraphNode_t node,
                                                unsigned int enabled) {
  GFXGRAPH_CALL_THEN(hipGraphNodeSetEnabled,
                     recorder().executables().node_enabled(executable, node, enabled != 0),
                     executable, node, enabled);
}

// Only the attribute "cooperative" changes what a kernel may do; the others are hints.
GFXGRAPH_HOOK hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node,
                                                        hipKernelNodeAttrID attribute,
                                                        const hipKernelNodeAttrValue* value) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGraphKernelNodeSetAttribute, node, attribute, value);
  if (scope.record && result == hipSuccess &&
      static_cast<uint32_t>(attribute) == LaunchAttribute::kCooperative) {
    recorder().graphs().node_made_cooperative(node, *reinterpret_cast<const int32_t*>(value) != 0);
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to) {
  GFXGRAPH_CALL_THEN(
      hipGraphKernelNodeCopyAttributes,
      recorder().graphs().node_cooperative_as(to, from, "hipGraphKernelNodeCopyAttributes"), from,
      to);
}
