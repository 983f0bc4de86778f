#include "recorder/hooks/calls/hip_calls.h"

#include <dlfcn.h>

#include <atomic>

// Every hook of the table, by its symbol: rows with PASS have no hook.
#define GFXGRAPH_DECLARE_RECORD(name) \
  extern "C" __attribute__((visibility("default"))) void gfxgraph_hook_##name() __asm__(#name);
#define GFXGRAPH_DECLARE_CONDITIONAL(name) GFXGRAPH_DECLARE_RECORD(name)
#define GFXGRAPH_DECLARE_UNSUPPORTED(name) GFXGRAPH_DECLARE_RECORD(name)
#define GFXGRAPH_DECLARE_PASS(name)
#define GFXGRAPH_HIP_CALL(policy, name, ...) GFXGRAPH_DECLARE_##policy(name)
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL

namespace gfxgraph::recorder {

namespace {

// A recorded row states what the host knows, any other row has no hook that could tell it: the
// wrong one of these does not compile.
constexpr bool recorded(CallPolicy policy) {
  return policy == CallPolicy::RECORD || policy == CallPolicy::CONDITIONAL;
}
struct Columns {
  Knows knows = Knows::NOTHING;
  CallDevices devices = FIRST_DEVICE;
};
consteval Columns stated(CallPolicy policy) {
  return recorded(policy) ? throw "hip_calls.inc: a recorded row must state what the host knows"
                          : Columns{};
}
consteval Columns stated(CallPolicy policy, Knows knows, CallDevices devices = FIRST_DEVICE) {
  return recorded(policy) ? Columns{knows, devices}
                          : throw "hip_calls.inc: only a recorded row knows something";
}
consteval CallRow row(std::string_view name, CallPolicy policy, Columns columns) {
  return {name, policy, columns.knows, columns.devices};
}

}  // namespace

// Everything that a hook reads must be constant data: a library with kernels that the program is
// linked to registers them in its own constructor, which runs before this library's.
constinit const CallRow kCallRows[kCallCount] = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) \
  row(#name, CallPolicy::policy, stated(CallPolicy::policy __VA_OPT__(, Knows::__VA_ARGS__))),
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
};

namespace {

#define GFXGRAPH_ADDRESS_RECORD(name) reinterpret_cast<void*>(&gfxgraph_hook_##name)
#define GFXGRAPH_ADDRESS_CONDITIONAL(name) GFXGRAPH_ADDRESS_RECORD(name)
#define GFXGRAPH_ADDRESS_UNSUPPORTED(name) GFXGRAPH_ADDRESS_RECORD(name)
#define GFXGRAPH_ADDRESS_PASS(name) nullptr
// No constinit: clang does not accept reinterpret_cast as constant, but both compilers emit
// constant data (tests/recorder: ThePreloadLibraryInitialisesNothingAtStart).
void* const kHooks[kCallCount] = {
#define GFXGRAPH_HIP_CALL(policy, name, ...) GFXGRAPH_ADDRESS_##policy(name),
#include "recorder/hooks/calls/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
};

}  // namespace

constinit std::atomic<void*> real_functions[kCallCount];

DlsymFunction hip_dlsym() noexcept {
  static std::atomic<DlsymFunction> cached{nullptr};
  DlsymFunction function = cached.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  const DlsymFunction system = preload::system_dlsym();
  void* next = preload::call_dlsym(system, RTLD_NEXT, preload::kHipErrorsDlsym);
  function = next == nullptr ? system : reinterpret_cast<DlsymFunction>(next);
  cached.store(function, std::memory_order_relaxed);
  return function;
}

int find_call(std::string_view name) noexcept {
  // Called once per function at run time: no table, which would have to be allocated.
  for (int i = 0; i < kCallCount; ++i) {
    if (kCallRows[i].name == name) return i;
  }
  return -1;
}

std::string_view demangled_call(std::string_view name) noexcept {
  for (const std::string_view plain :
       {"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel", "hipLaunchKernelGGLImpl",
        "hipCreateSurfaceObject", "hipDestroySurfaceObject"}) {
    if (name.find(plain) != std::string_view::npos) return plain;
  }
  return name;
}

void* find_real_function(int index) noexcept {
  void* const function = preload::find_hip_function(hip_dlsym(), kCallRows[index].name.data());
  if (function != nullptr) real_functions[index].store(function, std::memory_order_release);
  return function;
}

bool gives_work(int index) noexcept {
  const std::string_view name = kCallRows[index].name;
  if (name.starts_with("hipGraph") || name.starts_with("hipDrvGraph")) {
    return name.starts_with("hipGraphLaunch");
  }
  for (const std::string_view part : {"Launch", "hipMemcpy", "hipMemset", "hipDrvMemcpy"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

void learn_real_function(int index, void* function) noexcept {
  if (function == hook_function(index)) return;
  preload::keep_loaded(function);
  void* expected = nullptr;
  real_functions[index].compare_exchange_strong(expected, function);
}

void* hook_function(int index) noexcept { return kHooks[index]; }

}  // namespace gfxgraph::recorder
