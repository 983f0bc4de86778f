// Hooks of allocation and freeing.
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;
using gfxgraph::format::AllocationKind;

namespace {

void device_memory(const void* pointer, size_t bytes, uint32_t flags = 0) {
  recorder().buffers().allocated(
      {AllocationKind::kDevice, address_of(pointer), 0, bytes, flags, nullptr});
}

hipError_t host_memory(const Scope& scope, hipError_t result, void** pointer, size_t bytes,
                       uint32_t flags) {
  if (scope.record && result == hipSuccess && pointer != nullptr) {
    const uint64_t address = address_of(*pointer);
    recorder().buffers().allocated(
        {AllocationKind::kHostPinned, address, address, bytes, flags, nullptr});
  }
  return result;
}

hipError_t stream_memory(const Scope& scope, hipError_t result, void** pointer, size_t bytes,
                         hipStream_t stream) {
  if (!scope.record || result != hipSuccess) return result;
  const Handle key = stream_key(stream);
  if (recorder().graphs().capturing(key)) {
    recorder().buffers().graph_memory(address_of(*pointer), bytes, DeviceStreams::device_of(key));
    recorder().graphs().captured(key, RawGraphMemory{address_of(*pointer), false});
  } else {
    recorder().buffers().allocated(
        {AllocationKind::kStreamOrdered, address_of(*pointer), 0, bytes, 0, key});
  }
  return result;
}

hipError_t free_ended(int index, void* pointer, Freeing&& freeing, hipError_t result) {
  if (result == hipSuccess && freeing != nullptr)
    recorder().faults().freed(display_name(index), *freeing->allocation, address_of(pointer));
  recorder().buffers().freed(std::move(freeing), result == hipSuccess);
  if (std::exchange(failed_call, {}).index >= 0) [[unlikely]]
    recorder().faults().not_freed(display_name(index), error_name(result), address_of(pointer));
  return result;
}

hipError_t free_memory(int index, void* pointer, const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return real(index, pointer);
  Freeing freeing = recorder().buffers().freeing(address_of(pointer));
  const hipError_t result = real(index, pointer);
  if (pointer == nullptr) learned.index = -1;  // nothing to free, and nothing to wait for
  return free_ended(index, pointer, std::move(freeing), result);
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipMalloc(void** pointer, size_t bytes) {
  GFXGRAPH_CALL_THEN(hipMalloc, device_memory(*pointer, bytes), pointer, bytes);
}

GFXGRAPH_HOOK hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned int flags) {
  const Scope scope;
  const hipError_t result = real(kCall_hipExtMallocWithFlags, pointer, bytes, flags);
  if (!scope.record || result != hipSuccess) return result;
  if ((flags & hipMallocSignalMemory) == 0) {
    device_memory(*pointer, bytes, flags);
    return result;
  }
  // The host sees it, and a replay needs nothing but that.
  return host_memory(scope, result, pointer, bytes, 0);
}

GFXGRAPH_HOOK hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width,
                                        size_t height) {
  GFXGRAPH_CALL_THEN(hipMallocPitch, device_memory(*pointer, *pitch * height), pointer, pitch,
                     width, height);
}

GFXGRAPH_HOOK hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, size_t* pitch, size_t width,
                                          size_t height, unsigned int element) {
  GFXGRAPH_CALL_THEN(hipMemAllocPitch, device_memory(*pointer, *pitch * height), pointer, pitch,
                     width, height, element);
}

GFXGRAPH_HOOK hipError_t hipMalloc3D(hipPitchedPtr* pitched, hipExtent extent) {
  GFXGRAPH_CALL_THEN(hipMalloc3D,
                     device_memory(pitched->ptr, pitched->pitch * extent.height * extent.depth),
                     pitched, extent);
}

GFXGRAPH_HOOK hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  const Scope scope;
  const hipError_t result = real(kCall_hipMallocManaged, pointer, bytes, flags);
  if (scope.record && result == hipSuccess) {
    const uint64_t address = address_of(*pointer);
    recorder().buffers().allocated(
        {AllocationKind::kManaged, address, address, bytes, flags, nullptr});
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int flags) {
  const Scope scope;
  return host_memory(scope, real(kCall_hipHostMalloc, pointer, bytes, flags), pointer, bytes,
                     flags);
}

GFXGRAPH_HOOK hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  const Scope scope;
  return host_memory(scope, real(kCall_hipHostAlloc, pointer, bytes, flags), pointer, bytes, flags);
}

GFXGRAPH_HOOK hipError_t hipMallocHost(void** pointer, size_t bytes) {
  const Scope scope;
  return host_memory(scope, real(kCall_hipMallocHost, pointer, bytes), pointer, bytes, 0);
}

GFXGRAPH_HOOK hipError_t hipMemAllocHost(void** pointer, size_t bytes) {
  const Scope scope;
  return host_memory(scope, real(kCall_hipMemAllocHost, pointer, bytes), pointer, bytes, 0);
}

GFXGRAPH_HOOK hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  GFXGRAPH_CALL_THEN(hipHostRegister, recorder().buffers().host_registered(pointer, bytes, flags),
                     pointer, bytes, flags);
}

GFXGRAPH_HOOK hipError_t hipFree(void* pointer) { return free_memory(kCall_hipFree, pointer); }
GFXGRAPH_HOOK hipError_t hipHostFree(void* pointer) {
  return free_memory(kCall_hipHostFree, pointer);
}
GFXGRAPH_HOOK hipError_t hipFreeHost(void* pointer) {
  return free_memory(kCall_hipFreeHost, pointer);
}
GFXGRAPH_HOOK hipError_t hipHostUnregister(void* pointer) {
  const Scope scope;
  if (!scope.record) return real(kCall_hipHostUnregister, pointer);
  recorder().buffers().host_unregistering(address_of(pointer));
  const hipError_t result = real(kCall_hipHostUnregister, pointer);
  if (result == hipSuccess) learned.index = -1;  // said before the last state of the memory
  recorder().buffers().host_unregistered(address_of(pointer), result == hipSuccess);
  return result;
}

GFXGRAPH_HOOK hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t bytes) {
  const Scope scope;
  return real(kCall_hipMemPoolTrimTo, pool, bytes);
}

GFXGRAPH_HOOK hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream) {
  const Scope scope;
  const hipError_t result = real(kCall_hipMallocAsync, pointer, bytes, stream);
  return stream_memory(scope, result, pointer, bytes, stream);
}

GFXGRAPH_HOOK hipError_t hipMallocFromPoolAsync(void** pointer, size_t bytes, hipMemPool_t pool,
                                                hipStream_t stream) {
  const Scope scope;
  const hipError_t result = real(kCall_hipMallocFromPoolAsync, pointer, bytes, pool, stream);
  return stream_memory(scope, result, pointer, bytes, stream);
}

GFXGRAPH_HOOK hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  const Scope scope;
  if (!scope.record) return real(kCall_hipFreeAsync, pointer, stream);
  const Handle key = stream_key(stream);
  if (recorder().graphs().capturing(key) && recorder().buffers().is_graph_memory(pointer)) {
    const hipError_t result = real(kCall_hipFreeAsync, pointer, stream);
    if (result == hipSuccess)
      recorder().graphs().captured(key, RawGraphMemory{address_of(pointer), true});
    return result;
  }
  Freeing freeing = recorder().buffers().freeing(address_of(pointer), key, true);
  const hipError_t result = real(kCall_hipFreeAsync, pointer, stream);
  return free_ended(kCall_hipFreeAsync, pointer, std::move(freeing), result);
}

GFXGRAPH_HOOK hipError_t hipDeviceReset() {
  const Scope scope;
  if (!scope.record) return real(kCall_hipDeviceReset);
  recorder().buffers().resetting();
  const hipError_t result = real(kCall_hipDeviceReset);
  recorder().buffers().was_reset();
  return result;
}
