// libgfxgraph-hip-errors.so: interposes libamdhip64 and reports, as HIP errors, that a kernel has
// faulted on the software agent. No libamdhip64 passes the agent's fault on to the result of a
// launch, copy or synchronisation (docs/software-agent.md, "Faults"); on a device the kernel driver
// and the HSA queue would end the process instead.
//
// `gfxgraph run` preloads it. gfxgraph-record preloads it with the agent, after the recorder,
// because only the recorder must never change a result; it records what the program sees. Without
// the agent in the process, and before a fault, every call passes through.
//
// Every wrapper calls HIP first, so frees still happen. The library may be loaded into any process:
// it allocates no memory of its own at startup, runs no code there, and does not need the C++
// runtime library.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <limits.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "base/process/preload.h"
#include "hsa/agent_fault.h"

namespace gfxgraph::hip_errors {
namespace {

// Maps every kind of row to TYPED(moment, name, type) or OWN(name).
#define GFXGRAPH_HIP_CALL(moment, name) TYPED(moment, name, decltype(::name))
// One of the header's overloads must have the type that the row states.
#define GFXGRAPH_HIP_OVERLOADED(moment, name, ...) \
  TYPED(moment, name,                              \
        std::remove_pointer_t<decltype(static_cast<std::add_pointer_t<__VA_ARGS__>>(&::name))>)
#define GFXGRAPH_HIP_UNDECLARED(moment, name, ...) TYPED(moment, name, __VA_ARGS__)
#define GFXGRAPH_HIP_OWN(name) OWN(name)

enum Row : int {
#define TYPED(moment, name, ...) kRow_##name,
#define OWN(name) kRow_##name,
#include "hsa/hip_errors/hip_errors.inc"
#undef TYPED
#undef OWN
  kRowCount,
};

constexpr const char* kNames[kRowCount] = {
#define TYPED(moment, name, ...) #name,
#define OWN(name) #name,
#include "hsa/hip_errors/hip_errors.inc"
#undef TYPED
#undef OWN
};

// -1: not a row.
int find_row(const char* name) noexcept {
  // Called once per function at run time: an index is not worthwhile.
  for (int row = 0; row < kRowCount; ++row) {
    if (std::strcmp(kNames[row], name) == 0) return row;
  }
  return -1;
}

std::atomic<void*> real_functions[kRowCount];

// ---- the agent ----------------------------------------------------------------------------------

constexpr uint32_t kNoFault = GFXGRAPH_AGENT_FAULT_NONE;
constexpr uint32_t kNoAgent = kNoFault;  // the word to read while there is no agent
std::atomic<const uint32_t*> fault_state{&kNoAgent};

// libamdhip64 depends on the agent and so loads it: look for the agent whenever a function was
// found.
bool find_agent() noexcept {
  if (fault_state.load(std::memory_order_acquire) != &kNoAgent) return true;
  char path[PATH_MAX];
  if (!preload::find_loaded("libhsa-runtime64", path)) return false;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  void* const function =
      preload::call_dlsym(preload::system_dlsym(), handle, "gfxgraph_agent_fault_state");
  if (function == nullptr) {  // AMD's own runtime
    (void)dlclose(handle);
    return false;
  }
  fault_state.store(reinterpret_cast<const uint32_t* (*)()>(function)(), std::memory_order_release);
  return true;  // keep the reference: the word is read until the process ends
}

uint32_t fault() noexcept {
  return __atomic_load_n(fault_state.load(std::memory_order_acquire), __ATOMIC_ACQUIRE);
}

hipError_t error_of(uint32_t fault) noexcept {
  switch (fault) {
    case GFXGRAPH_AGENT_FAULT_MEMORY: return hipErrorIllegalAddress;
    case GFXGRAPH_AGENT_FAULT_ASSERT: return hipErrorAssert;
    case GFXGRAPH_AGENT_FAULT_TIMEOUT: return hipErrorLaunchTimeOut;
    default: return hipErrorLaunchFailure;
  }
}

// Whether HIP's result is unrelated to the call's arguments: success despite the fault, or an error
// that follows from the agent's rejection. Other errors have their cause in the call itself (an
// invalid value, a missing file) and are returned unchanged.
bool says_nothing_else(hipError_t result) noexcept {
  switch (result) {
    case hipSuccess:
    case hipErrorNotReady:
    case hipErrorOutOfMemory:
    case hipErrorRuntimeMemory:
    case hipErrorRuntimeOther:
    case hipErrorLaunchOutOfResources:
    case hipErrorNoBinaryForGpu:
    case hipErrorOperatingSystem:
    case hipErrorSharedObjectInitFailed:
    case hipErrorUnknown: return true;
    default: return false;
  }
}

__attribute__((noinline, cold)) hipError_t after_fault(uint32_t fault, hipError_t result) noexcept {
  return says_nothing_else(result) ? error_of(fault) : result;
}

// ---- the wrappers -------------------------------------------------------------------------------

__attribute__((noinline, cold)) void* look_up(int row) noexcept {
  void* function = preload::find_hip_function(preload::system_dlsym(), kNames[row]);
  if (function == nullptr) return nullptr;
  (void)find_agent();
  real_functions[row].store(function, std::memory_order_release);
  return function;
}

// The runtime's function; nullptr: the runtime does not have it.
void* real_function(int row) noexcept {
  void* function = real_functions[row].load(std::memory_order_acquire);
  return function != nullptr ? function : look_up(row);
}

enum class Moment { SUBMIT, WAIT };

template <int kRow, Moment kMoment, typename Function>
struct Wrapper;

// Calls the runtime's function and converts its result.
template <Moment kMoment, typename... Args>
hipError_t call_real(void* function, Args... args) {
  [[maybe_unused]] const bool before = kMoment == Moment::SUBMIT && fault() != kNoFault;
  const hipError_t result = reinterpret_cast<hipError_t (*)(Args...)>(function)(args...);
  if (kMoment == Moment::SUBMIT && !before && result == hipSuccess) return result;
  const uint32_t now = fault();
  if (now == kNoFault) [[likely]]
    return result;
  return after_fault(now, result);
}

template <int kRow, Moment kMoment, typename... Args>
struct Wrapper<kRow, kMoment, hipError_t(Args...)> {
  static hipError_t call(Args... args) {
    void* const function = real_function(kRow);
    if (function == nullptr) return hipErrorNotSupported;
    return call_real<kMoment, Args...>(function, args...);
  }
};

}  // namespace
}  // namespace gfxgraph::hip_errors

// The exported functions, in the order of the rows (stubs.S).
extern "C" __attribute__((visibility("hidden"))) void* const gfxgraph_hip_error_stubs[];

namespace gfxgraph::hip_errors {
namespace {

// The pointer to return for the runtime's function `found`, which the program looked up by `name`:
// the stub, or `found` itself if no agent is loaded, if there is no such row, or if it belongs to a
// second runtime in the process, whose functions the stubs do not call.
void* replacement(const char* name, void* found) noexcept {
  const int row = find_row(name);
  if (row < 0) return found;
  // Also if `found` is the stub, which exists whether or not the runtime has the function.
  void* const real = real_function(row);
  if (real == nullptr) return found == gfxgraph_hip_error_stubs[row] ? nullptr : found;
  return found == real && find_agent() ? gfxgraph_hip_error_stubs[row] : found;
}

constexpr uint64_t kPerThreadDefaultStream = 2;  // HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

hipError_t call_hipGetProcAddress(const char* name, void** function, int version, uint64_t flags,
                                  void* status) {
  using Function = hipError_t (*)(const char*, void**, int, uint64_t, void*);
  void* const real = real_function(kRow_hipGetProcAddress);
  if (real == nullptr) return hipErrorNotSupported;
  const hipError_t result =
      reinterpret_cast<Function>(real)(name, function, version, flags, status);
  if (result != hipSuccess || name == nullptr || function == nullptr || *function == nullptr) {
    return result;
  }
  char variant[128];
  const size_t size = std::strlen(name);
  if (flags == kPerThreadDefaultStream && size + sizeof("_spt") <= sizeof(variant)) {
    std::memcpy(variant, name, size);
    std::memcpy(variant + size, "_spt", sizeof("_spt"));
    *function = replacement(variant, *function);
  }
  *function = replacement(name, *function);
  return result;
}

// ---- callbacks: HIP passes "success" to them as well --------------------------------------------

struct Callback {
  hipStreamCallback_t function;
  void* data;
};

void call_back(hipStream_t stream, hipError_t status, void* data) {
  const Callback callback = *static_cast<Callback*>(data);
  std::free(data);
  const uint32_t now = fault();
  callback.function(stream, now == kNoFault ? status : after_fault(now, status), callback.data);
}

// HIP calls a function once, or never if it rejects it.
hipError_t add_callback(int row, hipStream_t stream, hipStreamCallback_t function, void* data,
                        unsigned flags) {
  void* const real = real_function(row);
  if (real == nullptr) return hipErrorNotSupported;
  void* memory = nullptr;
  if (function != nullptr && find_agent()) memory = std::malloc(sizeof(Callback));
  if (memory == nullptr) return call_real<Moment::SUBMIT>(real, stream, function, data, flags);
  new (memory) Callback{function, data};
  const bool before = fault() != kNoFault;
  const hipError_t result =
      reinterpret_cast<decltype(&::hipStreamAddCallback)>(real)(stream, &call_back, memory, flags);
  if (result != hipSuccess) std::free(memory);
  const uint32_t now = fault();
  return now == kNoFault || (!before && result == hipSuccess) ? result : after_fault(now, result);
}

hipError_t call_hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t function, void* data,
                                     unsigned flags) {
  return add_callback(kRow_hipStreamAddCallback, stream, function, data, flags);
}

hipError_t call_hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t function,
                                         void* data, unsigned flags) {
  return add_callback(kRow_hipStreamAddCallback_spt, stream, function, data, flags);
}

}  // namespace
}  // namespace gfxgraph::hip_errors

using namespace gfxgraph::hip_errors;
using gfxgraph::preload::DlsymAnswer;

// Jump targets of the stubs.
extern "C" __attribute__((visibility("hidden"))) void* const gfxgraph_hip_error_wrappers[kRowCount];
void* const gfxgraph_hip_error_wrappers[kRowCount] = {
#define TYPED(moment, name, ...) \
  reinterpret_cast<void*>(&Wrapper<kRow_##name, Moment::moment, __VA_ARGS__>::call),
#define OWN(name) reinterpret_cast<void*>(&call_##name),
#include "hsa/hip_errors/hip_errors.inc"
};

// For programs that look up HIP functions at run time (Python's ctypes, Triton). Behind this
// library there may be others with hooks, which the program is linked with.
extern "C" __attribute__((visibility("hidden"))) DlsymAnswer
gfxgraph_resolve_dlsym(void* handle, const char* name) {
  const auto next = gfxgraph::preload::next_dlsym();
  const DlsymAnswer ask_the_next_one{reinterpret_cast<void*>(next), 0};
  if (name == nullptr || !gfxgraph::preload::may_be_hip(name)) return ask_the_next_one;
  const int row = find_row(name);
  if (row < 0) return ask_the_next_one;
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
    if (real_function(row) != nullptr) return ask_the_next_one;
    // The runtime lacks this function although its stub exists. A lookup from here finds nothing
    // and sets dlerror().
    return {gfxgraph::preload::call_dlsym(next, RTLD_NEXT, name), 1};
  }
  void* const found = gfxgraph::preload::call_dlsym(next, handle, name);
  return {found == nullptr ? nullptr : replacement(name, found), 1};
}
