#include "recorder/hip_calls.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <atomic>
#include <cstring>

// Every hook of the table, by its symbol: rows with PASS have none.
#define GFXGRAPH_DECLARE_RECORD(name) \
  extern "C" __attribute__((visibility("default"))) void gfxgraph_hook_##name() __asm__(#name);
#define GFXGRAPH_DECLARE_CONDITIONAL(name) GFXGRAPH_DECLARE_RECORD(name)
#define GFXGRAPH_DECLARE_UNSUPPORTED(name) GFXGRAPH_DECLARE_RECORD(name)
#define GFXGRAPH_DECLARE_PASS(name)
#define GFXGRAPH_HIP_CALL(policy, name) GFXGRAPH_DECLARE_##policy(name)
#include "recorder/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL

namespace gfxgraph::recorder {

const CallRow kCallRows[kCallCount] = {
#define GFXGRAPH_HIP_CALL(policy, name) CallRow{#name, CallPolicy::policy},
#include "recorder/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
};

namespace {

#define GFXGRAPH_ADDRESS_RECORD(name) reinterpret_cast<void*>(&gfxgraph_hook_##name)
#define GFXGRAPH_ADDRESS_CONDITIONAL(name) GFXGRAPH_ADDRESS_RECORD(name)
#define GFXGRAPH_ADDRESS_UNSUPPORTED(name) GFXGRAPH_ADDRESS_RECORD(name)
#define GFXGRAPH_ADDRESS_PASS(name) nullptr
void* const kHooks[kCallCount] = {
#define GFXGRAPH_HIP_CALL(policy, name) GFXGRAPH_ADDRESS_##policy(name),
#include "recorder/hip_calls.inc"
#undef GFXGRAPH_HIP_CALL
};

std::atomic<void*> real_functions[kCallCount];

// The first loaded library whose file name begins with libamdhip64 (wheels rename it:
// libamdhip64-abc123.so): its path, into PATH_MAX bytes.
int find_hip_library(dl_phdr_info* info, size_t, void* result) {
  const char* path = info->dlpi_name;
  if (path == nullptr) return 0;
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  if (std::strncmp(file, "libamdhip64", 11) != 0) return 0;
  const size_t size = std::strlen(path) + 1;
  if (size > PATH_MAX) return 0;
  std::memcpy(result, path, size);
  return 1;
}

// The runtime must stay loaded: the recorder calls it when the process ends, even if the program
// has closed it by then.
void keep_loaded(void* function) noexcept {
  static std::atomic<bool> kept{false};
  if (kept.exchange(true)) return;
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return;
  (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void* lookup(const char* name) noexcept {
  if (void* found = call_real_dlsym(RTLD_NEXT, name); found != nullptr) {
    keep_loaded(found);
    return found;
  }
  char path[PATH_MAX] = "";
  dl_iterate_phdr(find_hip_library, path);
  if (path[0] == '\0') return nullptr;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  return call_real_dlsym(handle, name);  // the reference stays: see keep_loaded()
}

}  // namespace

DlsymFunction real_dlsym() noexcept {
  static std::atomic<DlsymFunction> cached{nullptr};
  DlsymFunction function = cached.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  // dlvsym, because this library's dlsym is the first one that a plain lookup finds. 2.34 moved
  // dlsym into libc.so.6 under a new version; 2.2.5 is the first of x86-64.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    void* found = dlvsym(RTLD_NEXT, "dlsym", version);
    if (found == nullptr) continue;
    function = reinterpret_cast<DlsymFunction>(found);
    cached.store(function, std::memory_order_relaxed);
    return function;
  }
  return nullptr;
}

void* call_real_dlsym(void* handle, const char* name) noexcept {
  const DlsymFunction function = real_dlsym();
  return function == nullptr ? nullptr : function(handle, name);
}

int find_call(std::string_view name) noexcept {
  // Asked once per function at run time: not worth a table, which would have to be allocated.
  for (int i = 0; i < kCallCount; ++i) {
    if (kCallRows[i].name == name) return i;
  }
  return -1;
}

std::string_view display_name(int index) noexcept {
  const std::string_view name = kCallRows[index].name;
  if (!name.starts_with("_Z")) [[likely]]
    return name;
  for (const std::string_view plain :
       {"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel", "hipLaunchKernelGGLImpl",
        "hipCreateSurfaceObject", "hipDestroySurfaceObject"}) {
    if (name.find(plain) != std::string_view::npos) return plain;
  }
  return name;
}

void* real_function(int index) noexcept {
  void* function = real_functions[index].load(std::memory_order_acquire);
  if (function != nullptr) [[likely]]
    return function;
  function = lookup(kCallRows[index].name.data());
  if (function != nullptr) real_functions[index].store(function, std::memory_order_release);
  return function;
}

void learn_real_function(int index, void* function) noexcept {
  if (function == hook_function(index)) return;
  keep_loaded(function);
  void* expected = nullptr;
  real_functions[index].compare_exchange_strong(expected, function);
}

void* hook_function(int index) noexcept { return kHooks[index]; }

}  // namespace gfxgraph::recorder
