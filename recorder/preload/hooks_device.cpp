// Hooks of what chooses a device, and which calls are recorded on all devices.
#include <string_view>

#include "recorder/preload/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

constexpr const char* kFirstOnly =
    "on another device than the first one, the only one on which it is recorded; "
    "HIP_VISIBLE_DEVICES selects it";

// Of all others, a trace says only what they do on the first device: of reset devices and their
// limits, of arrays, of stream memory operations, of memory that the program maps itself.
bool on_all_devices(int index) {
  switch (index) {
    case kCall_hipSetDevice:
    case kCall_hipGetProcAddress:
    case kCall_hipGetDriverEntryPoint:
    case kCall_hipGetDriverEntryPoint_spt:
    // code
    case kCall_hipModuleLoad:
    case kCall_hipModuleLoadData:
    case kCall_hipModuleLoadDataEx:
    case kCall_hipModuleLoadFatBinary:
    case kCall_hipModuleUnload:
    case kCall_hipModuleGetFunction:
    case kCall_hipModuleGetGlobal:
    case kCall_hipGetSymbolAddress:
    case kCall_hipGetFuncBySymbol:
    case kCall_hipLaunchKernel:
    case kCall_hipLaunchByPtr:
    case kCall_hipExtLaunchKernel:
    case kCall_hipLaunchKernelExC:
    case kCall_hipLaunchCooperativeKernel:
    case kCall_hipModuleLaunchKernel:
    case kCall_hipModuleLaunchCooperativeKernel:
    case kCall_hipDrvLaunchKernelEx:
    case kCall_hipExtModuleLaunchKernel:
    case kCall_hipHccModuleLaunchKernel:
    case kCall_hipExtLaunchMultiKernelMultiDevice:
    case kCall_hipLaunchCooperativeKernelMultiDevice:
    case kCall_hipModuleLaunchCooperativeKernelMultiDevice:
    case kCall__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j:
    case kCall__Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_:
    // memory
    case kCall_hipMalloc:
    case kCall_hipExtMallocWithFlags:
    case kCall_hipMallocPitch:
    case kCall_hipMemAllocPitch:
    case kCall_hipMalloc3D:
    case kCall_hipMallocManaged:
    case kCall_hipHostMalloc:
    case kCall_hipHostAlloc:
    case kCall_hipMallocHost:
    case kCall_hipMemAllocHost:
    case kCall_hipHostRegister:
    case kCall_hipHostUnregister:
    case kCall_hipFree:
    case kCall_hipHostFree:
    case kCall_hipFreeHost:
    case kCall_hipMallocAsync:
    case kCall_hipFreeAsync:
    // copies and memsets
    case kCall_hipMemcpy:
    case kCall_hipMemcpyAsync:
    case kCall_hipMemcpyWithStream:
    case kCall_hipMemcpyHtoD:
    case kCall_hipMemcpyDtoH:
    case kCall_hipMemcpyDtoD:
    case kCall_hipMemcpyHtoDAsync:
    case kCall_hipMemcpyDtoHAsync:
    case kCall_hipMemcpyDtoDAsync:
    case kCall_hipMemcpyPeer:
    case kCall_hipMemcpyPeerAsync:
    case kCall_hipMemcpy2D:
    case kCall_hipMemcpy2DAsync:
    case kCall_hipMemcpy3D:
    case kCall_hipMemcpy3DAsync:
    case kCall_hipMemcpyToSymbol:
    case kCall_hipMemcpyToSymbolAsync:
    case kCall_hipMemcpyFromSymbol:
    case kCall_hipMemcpyFromSymbolAsync:
    case kCall_hipMemset:
    case kCall_hipMemsetAsync:
    case kCall_hipMemsetD8:
    case kCall_hipMemsetD8Async:
    case kCall_hipMemsetD16:
    case kCall_hipMemsetD16Async:
    case kCall_hipMemsetD32:
    case kCall_hipMemsetD32Async:
    case kCall_hipMemset2D:
    case kCall_hipMemset2DAsync:
    case kCall_hipMemset3D:
    case kCall_hipMemset3DAsync:
    // streams, events, waits
    case kCall_hipStreamCreate:
    case kCall_hipStreamCreateWithFlags:
    case kCall_hipStreamCreateWithPriority:
    case kCall_hipStreamDestroy:
    case kCall_hipStreamSynchronize:
    case kCall_hipStreamQuery:
    case kCall_hipStreamWaitEvent:
    case kCall_hipStreamAddCallback:
    case kCall_hipLaunchHostFunc:
    case kCall_hipDeviceSynchronize:
    case kCall_hipEventCreate:
    case kCall_hipEventCreateWithFlags:
    case kCall_hipEventDestroy:
    case kCall_hipEventRecord:
    case kCall_hipEventRecordWithFlags:
    case kCall_hipEventSynchronize:
    case kCall_hipEventQuery:
    case kCall_hipEventElapsedTime: return true;
    default: return false;
  }
}

// Graphs, captures, and the forms of calls whose null stream is the thread's own.
bool is_by_name(std::string_view name) {
  if (name.find("BatchMemOp") != std::string_view::npos) return false;
  if (name.starts_with("hipGraph") || name.starts_with("hipDrvGraph")) return true;
  if (name.starts_with("hipStream") && name.find("Capture") != std::string_view::npos) return true;
  return name.ends_with("_spt") && name.find("Array") == std::string_view::npos;
}

}  // namespace

void gfxgraph::recorder::note_other_device(int index) noexcept {
  if (!on_all_devices(index) && !is_by_name(kCallRows[index].name))
    recorder().note_incomplete(display_name(index), kFirstOnly);
}

GFXGRAPH_HOOK hipError_t hipSetDevice(int device) {
  const Scope scope;
  const hipError_t result = real(kCall_hipSetDevice, device);
  if (result != hipSuccess) return result;
  if (device != 0) DeviceStreams::use_several();
  current_device = static_cast<gfxgraph::format::DeviceNumber>(device);
  return result;
}
// The ways to a second device by contexts.
GFXGRAPH_HOOK hipError_t hipCtxCreate(hipCtx_t* context, unsigned int flags, hipDevice_t device) {
  const Scope scope;
  const hipError_t result = real(kCall_hipCtxCreate, context, flags, device);
  if (scope.record && result == hipSuccess && device != 0) {
    recorder().note_incomplete("hipCtxCreate", kFirstOnly);
  }
  return result;
}
GFXGRAPH_HOOK hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  const Scope scope;
  const hipError_t result = real(kCall_hipDevicePrimaryCtxRetain, context, device);
  if (scope.record && result == hipSuccess && device != 0) {
    recorder().note_incomplete("hipDevicePrimaryCtxRetain", kFirstOnly);
  }
  return result;
}
