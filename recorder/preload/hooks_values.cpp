// Hooks of stream memory operations.
#include "recorder/preload/hooks_internal.h"

using namespace gfxgraph::recorder;

namespace {

template <typename Call>
hipError_t write_value(int index, hipStream_t stream, const RawWrite& raw, Call&& call,
                       const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  return device_work(index, raw, stream_key(stream), std::forward<Call>(call), true);
}

template <typename Call>
hipError_t wait_value(int index, hipStream_t stream, const RawValueWait& wait, Call&& call,
                      const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  const hipError_t result = call();
  if (scope.record && result == hipSuccess) {
    recorder().stream_waits(stream_key(stream), wait, display_name(index).data());
  }
  return result;
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipStreamWriteValue32(hipStream_t stream, void* address, uint32_t value,
                                               unsigned int flags) {
  return write_value(kCall_hipStreamWriteValue32, stream, {address_of(address), 4, value}, [&] {
    return real(kCall_hipStreamWriteValue32, stream, address, value, flags);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamWriteValue64(hipStream_t stream, void* address, uint64_t value,
                                               unsigned int flags) {
  return write_value(kCall_hipStreamWriteValue64, stream, {address_of(address), 8, value}, [&] {
    return real(kCall_hipStreamWriteValue64, stream, address, value, flags);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamWaitValue32(hipStream_t stream, void* address, uint32_t value,
                                              unsigned int flags, uint32_t mask) {
  return wait_value(
      kCall_hipStreamWaitValue32, stream, {address_of(address), 4, value, mask, flags},
      [&] { return real(kCall_hipStreamWaitValue32, stream, address, value, flags, mask); });
}
GFXGRAPH_HOOK hipError_t hipStreamWaitValue64(hipStream_t stream, void* address, uint64_t value,
                                              unsigned int flags, uint64_t mask) {
  return wait_value(
      kCall_hipStreamWaitValue64, stream, {address_of(address), 8, value, mask, flags},
      [&] { return real(kCall_hipStreamWaitValue64, stream, address, value, flags, mask); });
}
