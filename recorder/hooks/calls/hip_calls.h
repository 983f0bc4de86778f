// The functions of libamdhip64 as rows of one table (hip_calls.inc), and the real functions behind
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/process/preload.h"
#include "recorder/knows.h"

namespace gfxgraph::recorder {

enum class CallPolicy : uint8_t { RECORD, CONDITIONAL, UNSUPPORTED, PASS };

enum CallIndex : int {
#define GFXGRAPH_HIP_CALL(policy, name, ...) kCall_##name,
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
  kCallCount,
};

enum CallDevices : uint8_t { FIRST_DEVICE, ALL_DEVICES };  // on which it is recorded

struct CallRow {
  std::string_view name;
  CallPolicy policy;
  Knows knows;
  CallDevices devices;
};

extern const CallRow kCallRows[kCallCount];

// -1: not a row.
int find_call(std::string_view name) noexcept;
// The symbol as a person writes it: "hipExtModuleLaunchKernel" for its C++-mangled form.
std::string_view demangled_call(std::string_view name) noexcept;
inline std::string_view display_name(int index) noexcept {
  const std::string_view name = kCallRows[index].name;
  return name.starts_with("_Z") ? demangled_call(name) : name;
}

// The runtime's own function: the next definition after this library (RTLD_NEXT), otherwise that of
// a libamdhip64 that was loaded outside of the global scope. Looked up once. nullptr: there is
// none.
extern constinit std::atomic<void*> real_functions[kCallCount];
void* find_real_function(int index) noexcept;
inline void* real_function(int index) noexcept {
  void* const function = real_functions[index].load(std::memory_order_acquire);
  return function != nullptr ? function : find_real_function(index);
}
// Whether the call submits device work: launches, copies, memsets.
bool gives_work(int index) noexcept;
// Whether the call only waits for the device, possibly forever.
constexpr bool only_waits(int index) noexcept {
  return index == kCall_hipDeviceSynchronize || index == kCall_hipCtxSynchronize ||
         index == kCall_hipStreamSynchronize || index == kCall_hipStreamSynchronize_spt ||
         index == kCall_hipEventSynchronize || index == kCall_hipExecutionCtxSynchronize;
}
// What a program found with dlsym on a handle of its own.
void learn_real_function(int index, void* function) noexcept;
// This library's hook; nullptr for rows with policy PASS.
void* hook_function(int index) noexcept;

// The dlsym for HIP's functions: that of the software agent's HIP errors (hsa/hip_errors), which
// are between this library and the runtime, if they are preloaded; otherwise glibc's.
using DlsymFunction = preload::DlsymFunction;
DlsymFunction hip_dlsym() noexcept;

}  // namespace gfxgraph::recorder
