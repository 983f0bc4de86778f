// Hooks of execution contexts (HIP 7.14). Types: hip/hip_runtime_api.h of HIP 7.14, as published.
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"

using namespace gfxgraph::recorder;

namespace {

void context_made(ExecutionContext context, int device, bool primary) noexcept {
  if (device != 0) DeviceStreams::use_several();
  recorder().contexts().made(context, static_cast<gfxgraph::format::DeviceNumber>(device), primary);
}

// Streams of a context wait for no null stream, whatever their flags are.
void stream_made(ExecutionContext context, hipStream_t stream, int priority) noexcept {
  DeviceStreams::created(stream, recorder().contexts().device_of(context));
  recorder().streams().stream_created(stream, hipStreamNonBlocking, priority);
  recorder().contexts().stream_made(context, stream);
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipGreenCtxCreate(ExecutionContext* context, void* description, int device,
                                           unsigned int flags) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGreenCtxCreate, context, description, device, flags);
  if (!scope.record || result != hipSuccess) return result;
  recorder().note("hipGreenCtxCreate", "its compute units are not recorded");
  context_made(*context, device, false);
  return result;
}

GFXGRAPH_HOOK hipError_t hipDeviceGetExecutionCtx(ExecutionContext* context, int device) {
  GFXGRAPH_CALL_THEN(hipDeviceGetExecutionCtx, context_made(*context, device, true), context,
                     device);
}

GFXGRAPH_HOOK hipError_t hipExecutionCtxDestroy(ExecutionContext context) {
  const Scope scope;
  if (!scope.record) return real(kCall_hipExecutionCtxDestroy, context);
  ContextCalls::Leaving leaving = recorder().contexts().leaves(context);
  const hipError_t result = real(kCall_hipExecutionCtxDestroy, context);
  if (result != hipSuccess) recorder().contexts().put_back(context, std::move(leaving));
  return result;
}

GFXGRAPH_HOOK hipError_t hipExecutionCtxStreamCreate(hipStream_t* stream, ExecutionContext context,
                                                     unsigned int flags, int priority) {
  GFXGRAPH_CALL_THEN(hipExecutionCtxStreamCreate, stream_made(context, *stream, priority), stream,
                     context, flags, priority);
}

GFXGRAPH_HOOK hipError_t hipExecutionCtxRecordEvent(ExecutionContext context, hipEvent_t event) {
  constexpr int kIndex = kCall_hipExecutionCtxRecordEvent;
  GFXGRAPH_CALL_THEN(hipExecutionCtxRecordEvent,
                     recorder().contexts().event_recorded(context, event, display_name(kIndex)),
                     context, event);
}

GFXGRAPH_HOOK hipError_t hipExecutionCtxWaitEvent(ExecutionContext context, hipEvent_t event) {
  constexpr int kIndex = kCall_hipExecutionCtxWaitEvent;
  GFXGRAPH_CALL_THEN(hipExecutionCtxWaitEvent,
                     recorder().contexts().waits(context, event, display_name(kIndex)), context,
                     event);
}

GFXGRAPH_HOOK hipError_t hipExecutionCtxSynchronize(ExecutionContext context) {
  constexpr int kIndex = kCall_hipExecutionCtxSynchronize;
  const Scope scope;
  const hipError_t result = real(kIndex, context);
  if (!scope.record || result != hipSuccess) return result;
  learned.index = -1;
  recorder().contexts().synchronized(context, display_name(kIndex));
  return result;
}
