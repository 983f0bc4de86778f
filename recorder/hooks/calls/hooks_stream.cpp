// Hooks of streams, events, synchronisation, host functions and stream capture.
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

hipError_t created(const Scope& scope, hipError_t result, hipStream_t* stream, unsigned flags,
                   int priority) {
  if (scope.record && result == hipSuccess) {
    DeviceStreams::created(*stream, current_device);
    recorder().streams().stream_created(*stream, flags, priority);
  }
  return result;
}

// A function of the program runs. It may end its thread (pthread_exit) instead of returning.
class RunningFunction {
 public:
  explicit RunningFunction(HostCall& call) noexcept
      : run_(recorder().host_runs().host_function_runs(call)) {
    ++host_function_depth;
  }
  ~RunningFunction() {
    --host_function_depth;
    recorder().host_runs().host_function_ran(run_);
  }
  RunningFunction(const RunningFunction&) = delete;
  RunningFunction& operator=(const RunningFunction&) = delete;

 private:
  const HostRuns::HostRun run_;
};

// The program's callback, which does not know of the recorder's. Runs on a runtime thread.
void run_callback(hipStream_t stream, hipError_t status, void* wrapped) {
  HostCall& call = *static_cast<HostCall*>(wrapped);
  const auto function = reinterpret_cast<hipStreamCallback_t>(call.function);
  void* const data = call.data;
  const RunningFunction running(call);
  function(stream, status, data);
}

template <typename Call>
hipError_t host_function(int index, Handle stream, void* function, void* data, Call&& call,
                         bool never_captured = false,
                         const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record || function == nullptr) return call(nullptr);
  std::shared_ptr<HostCall> wrapped =
      recorder().host_runs().wrap_host_function(function, data, false);
  if (!wrapped) return call(nullptr);
  HostCall* const raw = wrapped.get();
  return device_work(
      index, RawHostFunction{display_name(index).data(), std::move(wrapped)}, stream,
      [&] { return call(raw); }, never_captured);
}

}  // namespace

namespace gfxgraph::recorder {

void run_host_function(void* wrapped) {
  HostCall& call = *static_cast<HostCall*>(wrapped);
  const auto function = reinterpret_cast<hipHostFn_t>(call.function);
  void* const data = call.data;
  const RunningFunction running(call);
  function(data);
}

}  // namespace gfxgraph::recorder

GFXGRAPH_HOOK hipError_t hipStreamCreate(hipStream_t* stream) {
  const Scope scope;
  return created(scope, real(kCall_hipStreamCreate, stream), stream, 0, 0);
}
GFXGRAPH_HOOK hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  const Scope scope;
  return created(scope, real(kCall_hipStreamCreateWithFlags, stream, flags), stream, flags, 0);
}
GFXGRAPH_HOOK hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                                     int priority) {
  const Scope scope;
  return created(scope, real(kCall_hipStreamCreateWithPriority, stream, flags, priority), stream,
                 flags, priority);
}
// Which compute units a stream may use changes no result: recorded as a stream of its own.
GFXGRAPH_HOOK hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t size,
                                                      const uint32_t* mask) {
  const Scope scope;
  const hipError_t result = real(kCall_hipExtStreamCreateWithCUMask, stream, size, mask);
  if (scope.record && result == hipSuccess) {
    recorder().note("hipExtStreamCreateWithCUMask", "the mask of compute units is not recorded");
  }
  return created(scope, result, stream, 0, 0);
}
// Before the real call: another thread may get the same handle as soon as it returns.
GFXGRAPH_HOOK hipError_t hipStreamDestroy(hipStream_t stream) {
  const Scope scope;
  if (!scope.record) return real(kCall_hipStreamDestroy, stream);
  recorder().contexts().stream_leaves(stream);
  const gfxgraph::recorder::LeavingStream leaving =
      recorder().streams().stream_leaves(stream_key(stream));
  const hipError_t result = real(kCall_hipStreamDestroy, stream);
  const bool waited = learned.index == kCall_hipStreamDestroy;
  learned.index = -1;  // the handle is invalid
  recorder().streams().stream_destroyed(leaving, waited);
  return result;
}

GFXGRAPH_HOOK hipError_t hipStreamSynchronize(hipStream_t stream) {
  const Scope scope;
  return real(kCall_hipStreamSynchronize, stream);
}
GFXGRAPH_HOOK hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  const Scope scope;
  return real(kCall_hipStreamSynchronize_spt, stream);
}
// A query that returns "done" tells the host as much as a wait: real() detects this.
GFXGRAPH_HOOK hipError_t hipStreamQuery(hipStream_t stream) {
  const Scope scope;
  return real(kCall_hipStreamQuery, stream);
}
GFXGRAPH_HOOK hipError_t hipStreamQuery_spt(hipStream_t stream) {
  const Scope scope;
  return real(kCall_hipStreamQuery_spt, stream);
}
GFXGRAPH_HOOK hipError_t hipDeviceSynchronize() {
  const Scope scope;
  return real(kCall_hipDeviceSynchronize);
}
GFXGRAPH_HOOK hipError_t hipCtxSynchronize() {
  const Scope scope;
  return real(kCall_hipCtxSynchronize);
}
GFXGRAPH_HOOK hipError_t hipEventSynchronize(hipEvent_t event) {
  const Scope scope;
  return real(kCall_hipEventSynchronize, event);
}
GFXGRAPH_HOOK hipError_t hipEventQuery(hipEvent_t event) {
  const Scope scope;
  return real(kCall_hipEventQuery, event);
}

GFXGRAPH_HOOK hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  const Scope scope;
  return real(kCall_hipEventElapsedTime, ms, start, stop);
}

GFXGRAPH_HOOK hipError_t hipEventCreate(hipEvent_t* event) {
  GFXGRAPH_CALL_THEN(hipEventCreate, recorder().streams().event_created(*event, 0), event);
}
GFXGRAPH_HOOK hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipEventCreateWithFlags, recorder().streams().event_created(*event, flags),
                     event, flags);
}
GFXGRAPH_HOOK hipError_t hipEventDestroy(hipEvent_t event) {
  const Scope scope;
  if (scope.record) recorder().streams().event_destroyed(event);
  return real(kCall_hipEventDestroy, event);
}
GFXGRAPH_HOOK hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  GFXGRAPH_CALL_THEN(hipEventRecord, recorder().streams().event_recorded(event, stream_key(stream)),
                     event, stream);
}
GFXGRAPH_HOOK hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  GFXGRAPH_CALL_THEN(hipEventRecord_spt,
                     recorder().streams().event_recorded(event, per_thread_key(stream)), event,
                     stream);
}
GFXGRAPH_HOOK hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                                 unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipEventRecordWithFlags,
                     recorder().streams().event_recorded(event, stream_key(stream)), event, stream,
                     flags);
}
GFXGRAPH_HOOK hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                            unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipStreamWaitEvent,
                     recorder().streams().stream_waits(stream_key(stream), event, flags), stream,
                     event, flags);
}
GFXGRAPH_HOOK hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event,
                                                unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipStreamWaitEvent_spt,
                     recorder().streams().stream_waits(per_thread_key(stream), event, flags),
                     stream, event, flags);
}

GFXGRAPH_HOOK hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback,
                                              void* data, unsigned int flags) {
  return host_function(
      kCall_hipStreamAddCallback, stream_key(stream), reinterpret_cast<void*>(callback), data,
      [&](HostCall* wrapped) {
        if (wrapped == nullptr) {
          return real(kCall_hipStreamAddCallback, stream, callback, data, flags);
        }
        return real(kCall_hipStreamAddCallback, stream, &run_callback, static_cast<void*>(wrapped),
                    flags);
      },
      true);
}
GFXGRAPH_HOOK hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback,
                                                  void* data, unsigned int flags) {
  return host_function(
      kCall_hipStreamAddCallback_spt, per_thread_key(stream), reinterpret_cast<void*>(callback),
      data,
      [&](HostCall* wrapped) {
        if (wrapped == nullptr) {
          return real(kCall_hipStreamAddCallback_spt, stream, callback, data, flags);
        }
        return real(kCall_hipStreamAddCallback_spt, stream, &run_callback,
                    static_cast<void*>(wrapped), flags);
      },
      true);
}
GFXGRAPH_HOOK hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return host_function(kCall_hipLaunchHostFunc, stream_key(stream),
                       reinterpret_cast<void*>(function), data, [&](HostCall* wrapped) {
                         if (wrapped == nullptr) {
                           return real(kCall_hipLaunchHostFunc, stream, function, data);
                         }
                         return real(kCall_hipLaunchHostFunc, stream, &run_host_function,
                                     static_cast<void*>(wrapped));
                       });
}
GFXGRAPH_HOOK hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function,
                                               void* data) {
  return host_function(kCall_hipLaunchHostFunc_spt, per_thread_key(stream),
                       reinterpret_cast<void*>(function), data, [&](HostCall* wrapped) {
                         if (wrapped == nullptr) {
                           return real(kCall_hipLaunchHostFunc_spt, stream, function, data);
                         }
                         return real(kCall_hipLaunchHostFunc_spt, stream, &run_host_function,
                                     static_cast<void*>(wrapped));
                       });
}

GFXGRAPH_HOOK hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  GFXGRAPH_CALL_THEN(hipStreamBeginCapture, recorder().graphs().capture_begins(stream_key(stream)),
                     stream, mode);
}
GFXGRAPH_HOOK hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode) {
  GFXGRAPH_CALL_THEN(hipStreamBeginCapture_spt,
                     recorder().graphs().capture_begins(per_thread_key(stream)), stream, mode);
}
// HIP 6.2. What the dependencies' edges carry is opaque here.
GFXGRAPH_NEWER_HOOK(hipStreamBeginCaptureToGraph, hipStream_t stream, hipGraph_t graph,
                    const hipGraphNode_t* dependencies, const void* edges, size_t count,
                    hipStreamCaptureMode mode) {
  GFXGRAPH_CALL_THEN(
      hipStreamBeginCaptureToGraph,
      recorder().graphs().capture_begins_in(stream_key(stream), graph,
                                            reinterpret_cast<const Handle*>(dependencies), count),
      stream, graph, dependencies, edges, count, mode);
}
GFXGRAPH_HOOK hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  const Scope scope;
  const hipError_t result = real(kCall_hipStreamEndCapture, stream, graph);
  if (scope.record) {
    recorder().graphs().capture_ended(stream_key(stream), result == hipSuccess ? *graph : nullptr);
  }
  return result;
}
GFXGRAPH_HOOK hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph) {
  const Scope scope;
  const hipError_t result = real(kCall_hipStreamEndCapture_spt, stream, graph);
  if (scope.record) {
    recorder().graphs().capture_ended(per_thread_key(stream),
                                      result == hipSuccess ? *graph : nullptr);
  }
  return result;
}

namespace {

template <typename Call>
hipError_t capture_looked_at(Handle stream, hipGraph_t* graph, Call&& call,
                             const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  hipGraph_t own = nullptr;  // the program may not want it
  hipGraph_t* const wanted = graph == nullptr ? &own : graph;
  *wanted = nullptr;
  const hipError_t result = call(wanted);
  if (scope.record && result == hipSuccess && *wanted != nullptr) {
    recorder().graphs().capture_looked_at(stream, *wanted);
  }
  return result;
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream,
                                                    hipStreamCaptureStatus* status,
                                                    unsigned long long* id, hipGraph_t* graph,
                                                    const hipGraphNode_t** dependencies,
                                                    size_t* count) {
  return capture_looked_at(stream_key(stream), graph, [&](hipGraph_t* wanted) {
    return real(kCall_hipStreamGetCaptureInfo_v2, stream, status, id, wanted, dependencies, count);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream,
                                                        hipStreamCaptureStatus* status,
                                                        unsigned long long* id, hipGraph_t* graph,
                                                        const hipGraphNode_t** dependencies,
                                                        size_t* count) {
  return capture_looked_at(per_thread_key(stream), graph, [&](hipGraph_t* wanted) {
    return real(kCall_hipStreamGetCaptureInfo_v2_spt, stream, status, id, wanted, dependencies,
                count);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream,
                                                            hipGraphNode_t* dependencies,
                                                            size_t count, unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipStreamUpdateCaptureDependencies,
                     recorder().graphs().capture_depends(
                         stream_key(stream), reinterpret_cast<const void* const*>(dependencies),
                         count, flags == hipStreamSetCaptureDependencies),
                     stream, dependencies, count, flags);
}

// A replay has the limits of its own process. printf's buffer holds nothing that a trace describes;
// with another heap or stack, kernels may do something else.
GFXGRAPH_HOOK hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  const Scope scope;
  const hipError_t result = real(kCall_hipDeviceSetLimit, limit, value);
  if (scope.record && result == hipSuccess && limit != hipLimitPrintfFifoSize) {
    recorder().note_incomplete("hipDeviceSetLimit",
                               limit == hipLimitMallocHeapSize
                                   ? "a replay keeps its own limit of the device's malloc heap"
                                   : "a replay keeps its own limits");
  }
  return result;
}
