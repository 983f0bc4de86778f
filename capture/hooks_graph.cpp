// Host functions, graph launches and stream-ordered memory. A graph that is launched into a
// capturing stream becomes a child graph: the program may have destroyed or changed the graph since
// it was instantiated, so each executable graph has a clone, which its own changes are made to,
// too.
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/hip_quirks.h"
#include "capture/executables.h"
#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"
#include "capture/runtime.h"
#include "capture/turns.h"

using namespace gfxgraph::capture;

namespace gfxgraph::capture {
namespace {

hipError_t add_child(Builder& builder, hipGraph_t child) {
  const Turn turn;
  hipGraph_t copy = nullptr;
  hipError_t result = copy_in_order(child, copy);
  if (result == hipSuccess) {
    result = builder.add(
        [&](auto... to) { return runtime::add_child(to..., copy == nullptr ? child : copy); },
        true);
  }
  if (copy != nullptr) (void)runtime::destroy_graph(copy);
  return result;
}

template <typename Pass>
hipError_t launch_graph(int index, Stream stream, hipGraphExec_t executable, Pass&& pass) {
  return work(
      index, stream,
      [&](Builder& builder) {
        const char* why = nullptr;
        const hipGraph_t child = executables().graph_of(executable, why);
        if (child == nullptr) return builder.refuse(why);
        return add_child(builder, child);
      },
      std::forward<Pass>(pass));
}

// ---- host functions -----------------------------------------------------------------------------

hipError_t build_host(Builder& builder, hipHostFn_t function, void* data) {
  if (function == nullptr) return hipErrorInvalidValue;
  if (gfxgraph::hip_quirk_seen(gfxgraph::HipQuirk::kHostNodeCalledEarly, runtime_version())) {
    return builder.refuse(
        "this runtime's graphs call host functions before the work in front of them has ended");
  }
  hipHostNodeParams params = {};
  params.fn = function;
  params.userData = data;
  return builder.add([&](auto... to) { return runtime::add_host(to..., &params); });
}

struct Callback {
  hipStreamCallback_t function;
  hipStream_t stream;
  void* data;
};

void call_back(void* data) {
  const auto* const callback = static_cast<const Callback*>(data);
  callback->function(callback->stream, hipSuccess, callback->data);
}

template <typename Pass>
hipError_t add_callback(int index, Stream key, hipStream_t stream, hipStreamCallback_t function,
                        void* data, Pass&& pass) {
  return work(
      index, key,
      [&](Builder& builder) {
        if (function == nullptr) return hipErrorInvalidValue;
        // As long as a graph with the node may run: nobody tells when the last one is gone.
        return build_host(builder, &call_back, new Callback{function, stream, data});
      },
      std::forward<Pass>(pass));
}

// ---- memory -------------------------------------------------------------------------------------

hipError_t build_alloc(Builder& builder, void** address, size_t bytes) {
  if (address == nullptr) return hipErrorInvalidValue;
  if (bytes == 0) {
    *address = nullptr;
    return hipSuccess;
  }
  if (!runtime::add_alloc.exists())
    return builder.refuse("this runtime's graphs do not allocate memory");
  AllocNodeParams params = {};
  params.allocation_type = AllocNodeParams::kPinned;
  params.location_type = AllocNodeParams::kLocationDevice;
  int device = 0;
  (void)runtime::get_device(&device);
  params.location_id = device;
  params.size_bytes = bytes;
  const hipError_t result =
      builder.add([&](auto... to) { return runtime::add_alloc(to..., &params); });
  if (result == hipSuccess) *address = params.address;
  return result;
}

}  // namespace
}  // namespace gfxgraph::capture

GFXGRAPH_CAPTURE_HOOK hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function,
                                                   void* data) {
  return work(
      kCall_hipLaunchHostFunc, key_of(stream),
      [&](Builder& builder) { return build_host(builder, function, data); },
      [&] { return real(kCall_hipLaunchHostFunc, stream, function, data); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function,
                                                       void* data) {
  return work(
      kCall_hipLaunchHostFunc_spt, per_thread_key_of(stream),
      [&](Builder& builder) { return build_host(builder, function, data); },
      [&] { return real(kCall_hipLaunchHostFunc_spt, stream, function, data); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamAddCallback(hipStream_t stream,
                                                      hipStreamCallback_t callback, void* data,
                                                      unsigned int flags) {
  return add_callback(kCall_hipStreamAddCallback, key_of(stream), stream, callback, data, [&] {
    return real(kCall_hipStreamAddCallback, stream, callback, data, flags);
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamAddCallback_spt(hipStream_t stream,
                                                          hipStreamCallback_t callback, void* data,
                                                          unsigned int flags) {
  return add_callback(
      kCall_hipStreamAddCallback_spt, per_thread_key_of(stream), stream, callback, data,
      [&] { return real(kCall_hipStreamAddCallback_spt, stream, callback, data, flags); });
}

// ---- graphs -------------------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return launch_graph(kCall_hipGraphLaunch, key_of(stream), executable,
                      [&] { return real_in_turn(kCall_hipGraphLaunch, executable, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphLaunch_spt(hipGraphExec_t executable, hipStream_t stream) {
  return launch_graph(kCall_hipGraphLaunch_spt, per_thread_key_of(stream), executable,
                      [&] { return real_in_turn(kCall_hipGraphLaunch_spt, executable, stream); });
}

GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                                     hipGraphNode_t* error_node, char* log,
                                                     size_t size) {
  const hipError_t result =
      real_in_turn(kCall_hipGraphInstantiate, executable, graph, error_node, log, size);
  if (result == hipSuccess && inside == 0) executables().made(*executable, graph);
  return result;
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable,
                                                              hipGraph_t graph,
                                                              unsigned long long flags) {
  const hipError_t result =
      real_in_turn(kCall_hipGraphInstantiateWithFlags, executable, graph, flags);
  if (result == hipSuccess && inside == 0) executables().made(*executable, graph);
  return result;
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipGraphInstantiateWithParams, hipGraphExec_t* executable,
                            hipGraph_t graph, void* params) {
  const hipError_t result =
      real_in_turn(kCall_hipGraphInstantiateWithParams, executable, graph, params);
  if (result == hipSuccess && inside == 0) executables().made(*executable, graph);
  return result;
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  if (inside == 0) executables().destroyed(executable);
  return real(kCall_hipGraphExecDestroy, executable);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph,
                                                    hipGraphNode_t* error_node,
                                                    hipGraphExecUpdateResult* outcome) {
  const hipError_t result =
      real_in_turn(kCall_hipGraphExecUpdate, executable, graph, error_node, outcome);
  if (result == hipSuccess && inside == 0) executables().made(executable, graph);
  return result;
}

GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphDestroy(hipGraph_t graph) {
  if (inside == 0) {
    switch (executables().destroyed(graph)) {
      case Executables::Destroy::kNow: break;
      case Executables::Destroy::kLater: return hipSuccess;
      case Executables::Destroy::kTwice: return hipErrorInvalidValue;
    }
  }
  return real(kCall_hipGraphDestroy, graph);
}

// Kernels of graphs that the program changes by itself: these take turns, too.
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                                       const hipGraphNode_t* after, size_t count,
                                                       const hipKernelNodeParams* params) {
  if (inside == 0) executables().before_change();
  return real_in_turn(kCall_hipGraphAddKernelNode, node, graph, after, count, params);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node,
                                                             const hipKernelNodeParams* params) {
  if (inside == 0) executables().before_change();
  return real_in_turn(kCall_hipGraphKernelNodeSetParams, node, params);
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipGraphExecKernelNodeSetParams(
    hipGraphExec_t executable, hipGraphNode_t node, const hipKernelNodeParams* params) {
  if (inside == 0) executables().changed(executable);
  return real_in_turn(kCall_hipGraphExecKernelNodeSetParams, executable, node, params);
}

// ---- stream-ordered memory ----------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipMallocAsync(void** address, size_t bytes, hipStream_t stream) {
  return work(
      kCall_hipMallocAsync, key_of(stream),
      [&](Builder& builder) { return build_alloc(builder, address, bytes); },
      [&] { return real(kCall_hipMallocAsync, address, bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipMallocFromPoolAsync(void** address, size_t bytes,
                                                        hipMemPool_t pool, hipStream_t stream) {
  return work(
      kCall_hipMallocFromPoolAsync, key_of(stream),
      [&](Builder& builder) { return build_alloc(builder, address, bytes); },
      [&] { return real(kCall_hipMallocFromPoolAsync, address, bytes, pool, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipFreeAsync(void* address, hipStream_t stream) {
  return work(
      kCall_hipFreeAsync, key_of(stream),
      [&](Builder& builder) {
        if (!runtime::add_free.exists())
          return builder.refuse("this runtime's graphs do not free memory");
        return builder.add([&](auto... to) { return runtime::add_free(to..., address); });
      },
      [&] { return real(kCall_hipFreeAsync, address, stream); });
}
