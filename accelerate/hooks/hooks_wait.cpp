// Waits, queries and the last error: they tell what held work became, and end the time until it is
// done.
#include "accelerate/hooks/hooks_internal.h"

using namespace gfxgraph::accelerate;

namespace {

// Held work that failed when it was submitted: a call that reports earlier work returns it.
hipError_t with_earlier_error(Holder& holder, hipError_t result) noexcept {
  if (holder.peek_error() == 0 || (result != hipSuccess && result != hipErrorNotReady))
    return result;
  const int error = holder.take_error();
  return error == 0 ? result : static_cast<hipError_t>(error);
}

template <typename... Args>
hipError_t wait(Holder::WaitFor what, hipStream_t stream, const void* caller, int index,
                Args... args) {
  Holder* const all = holder();
  if (all == nullptr || inside != 0 || is_of_runtime(caller)) return real(index, args...);
  all->before();
  if (all->waits_of_one_thread() && all->on()) all->thread_waits(this_thread());
  const uint64_t submissions = all->wants_waits() ? all->submissions() : 0;
  const hipError_t result = real(index, args...);
  if (!all->wants_waits()) [[likely]]
    return result;
  if (result == hipSuccess) all->waited(what, stream, submissions);
  return with_earlier_error(*all, result);
}

template <typename... Args>
hipError_t ask(const void* caller, int index, Args... args) {
  Holder* const all = holder();
  if (all == nullptr || inside != 0 || is_of_runtime(caller)) return real(index, args...);
  all->before();
  return with_earlier_error(*all, real(index, args...));
}

}  // namespace

#define GFXGRAPH_WAIT(name, what, stream, parameters, ...)                  \
  GFXGRAPH_ACCELERATE_HOOK hipError_t name parameters {                     \
    return wait(Holder::WaitFor::what, stream, __builtin_return_address(0), \
                kCall_##name __VA_OPT__(, ) __VA_ARGS__);                   \
  }
#define GFXGRAPH_ASK(name, parameters, ...)                                           \
  GFXGRAPH_ACCELERATE_HOOK hipError_t name parameters {                               \
    return ask(__builtin_return_address(0), kCall_##name __VA_OPT__(, ) __VA_ARGS__); \
  }

GFXGRAPH_WAIT(hipDeviceSynchronize, kDevice, nullptr, ())
GFXGRAPH_WAIT(hipCtxSynchronize, kDevice, nullptr, ())
GFXGRAPH_WAIT(hipStreamSynchronize, kStream, stream, (hipStream_t stream), stream)
GFXGRAPH_WAIT(hipStreamSynchronize_spt, kOther, nullptr, (hipStream_t stream), stream)
GFXGRAPH_WAIT(hipEventSynchronize, kOther, nullptr, (hipEvent_t event), event)
GFXGRAPH_WAIT(hipMemcpy, kOther, nullptr,
              (void* to, const void* from, size_t bytes, hipMemcpyKind kind), to, from, bytes, kind)
GFXGRAPH_WAIT(hipMemcpyDtoH, kOther, nullptr, (void* to, hipDeviceptr_t from, size_t bytes), to,
              from, bytes)
GFXGRAPH_WAIT(hipMemcpyWithStream, kOther, nullptr,
              (void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream),
              to, from, bytes, kind, stream)
GFXGRAPH_ASK(hipStreamQuery, (hipStream_t stream), stream)
GFXGRAPH_ASK(hipStreamQuery_spt, (hipStream_t stream), stream)
GFXGRAPH_ASK(hipEventQuery, (hipEvent_t event), event)

// These submit nothing and observe nothing, except what failed.
GFXGRAPH_ACCELERATE_HOOK hipError_t hipGetLastError() {
  const hipError_t result = real(kCall_hipGetLastError);
  Holder* const all = holder();
  return all == nullptr || inside != 0 ? result : with_earlier_error(*all, result);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipExtGetLastError() {
  const hipError_t result = real(kCall_hipExtGetLastError);
  Holder* const all = holder();
  return all == nullptr || inside != 0 ? result : with_earlier_error(*all, result);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipPeekAtLastError() {
  const hipError_t result = real(kCall_hipPeekAtLastError);
  const Holder* const all = holder();
  return all == nullptr || inside != 0 || result != hipSuccess || all->peek_error() == 0
             ? result
             : static_cast<hipError_t>(all->peek_error());
}
