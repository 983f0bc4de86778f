// The runtime's functions that the layer itself calls, each looked up once. Calls that these make
// of each other do not come back to the layer.
#pragma once

#include "base/newer_hip.h"
#include "capture/newer_hip.h"

namespace gfxgraph::capture {

template <typename Function>
class Runtime {
 public:
  explicit constexpr Runtime(const char* name) noexcept : name_(name) {}
  template <typename... Args>
  hipError_t operator()(Args... args) {
    void* const function = find();
    if (function == nullptr) return hipErrorNotSupported;
    const Inside here;
    return reinterpret_cast<Function*>(function)(args...);
  }
  bool exists() { return find() != nullptr; }

 private:
  void* find() {
    void* function = found_.load(std::memory_order_acquire);
    if (function == nullptr) found_.store(function = runtime_function(name_));
    return function;
  }

  const char* name_;
  std::atomic<void*> found_{nullptr};
};

namespace runtime {

inline constinit Runtime<hipError_t(int*)> get_device("hipGetDevice");
inline constinit Runtime<hipError_t(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t,
                                    const BatchNodeParams*)>
    add_memory_operations("hipGraphAddBatchMemOpNode");
inline constinit Runtime<hipError_t(hipCtx_t*)> current_context("hipCtxGetCurrent");
inline constinit Runtime<decltype(hipGraphAddDependencies)> add_dependencies(
    "hipGraphAddDependencies");
inline constinit Runtime<decltype(hipGraphAddEmptyNode)> add_empty("hipGraphAddEmptyNode");
inline constinit Runtime<decltype(hipGraphAddChildGraphNode)> add_child(
    "hipGraphAddChildGraphNode");
inline constinit Runtime<decltype(hipGraphAddEventRecordNode)> add_event_record(
    "hipGraphAddEventRecordNode");
inline constinit Runtime<decltype(hipGraphAddEventWaitNode)> add_event_wait(
    "hipGraphAddEventWaitNode");
inline constinit Runtime<decltype(hipGraphAddHostNode)> add_host("hipGraphAddHostNode");
inline constinit Runtime<decltype(hipGraphAddKernelNode)> add_kernel("hipGraphAddKernelNode");
inline constinit Runtime<hipError_t(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t,
                                    AllocNodeParams*)>
    add_alloc("hipGraphAddMemAllocNode");
inline constinit Runtime<hipError_t(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t,
                                    void*)>
    add_free("hipGraphAddMemFreeNode");
inline constinit Runtime<decltype(hipGraphAddMemcpyNode)> add_copy("hipGraphAddMemcpyNode");
inline constinit Runtime<hipError_t(hipChannelFormatDesc*, hipExtent*, unsigned int*, hipArray_t)>
    array_info("hipArrayGetInfo");
inline constinit Runtime<decltype(hipGraphAddMemcpyNode1D)> add_copy_1d("hipGraphAddMemcpyNode1D");
inline constinit Runtime<decltype(hipGraphAddMemcpyNodeFromSymbol)> add_from_symbol(
    "hipGraphAddMemcpyNodeFromSymbol");
inline constinit Runtime<decltype(hipGraphAddMemcpyNodeToSymbol)> add_to_symbol(
    "hipGraphAddMemcpyNodeToSymbol");
inline constinit Runtime<decltype(hipGraphAddMemsetNode)> add_set("hipGraphAddMemsetNode");
inline constinit Runtime<decltype(hipGraphClone)> clone_graph("hipGraphClone");
inline constinit Runtime<decltype(hipGraphCreate)> create_graph("hipGraphCreate");
inline constinit Runtime<decltype(hipGraphDestroy)> destroy_graph("hipGraphDestroy");
inline constinit Runtime<hipError_t(hipGraphNode_t, int, const void*)> set_attribute(
    "hipGraphKernelNodeSetAttribute");
inline constinit Runtime<decltype(hipGraphGetNodes)> graph_nodes("hipGraphGetNodes");
inline constinit Runtime<decltype(hipGraphGetRootNodes)> root_nodes("hipGraphGetRootNodes");
inline constinit Runtime<decltype(hipGraphNodeGetDependentNodes)> dependents(
    "hipGraphNodeGetDependentNodes");
inline constinit Runtime<hipError_t(int*)> get_version("hipRuntimeGetVersion");
inline constinit Runtime<hipError_t(hipStream_t, unsigned int*)> get_flags("hipStreamGetFlags");

}  // namespace runtime
}  // namespace gfxgraph::capture
