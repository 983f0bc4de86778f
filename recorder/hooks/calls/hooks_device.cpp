// Hooks of what chooses a device, and which calls are recorded on all devices.
#include "recorder/hooks/calls/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

constexpr const char* kFirstOnly =
    "on another device than the first one, the only one on which it is recorded; "
    "HIP_VISIBLE_DEVICES selects it";

}  // namespace

void gfxgraph::recorder::note_other_device(int index) noexcept {
  if (kCallRows[index].devices == FIRST_DEVICE)
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
