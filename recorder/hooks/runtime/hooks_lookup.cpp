// Hooks for lookups of HIP functions at run time, and the calls that are passed through without
// being recorded (trampolines.S).
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "base/process/hip_lookup.h"
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/hooks_marker.h"
#include "recorder/hooks/runtime/bound_around.h"
#include "recorder/hooks/runtime/hsa_work.h"
#include "recorder/hooks/runtime/loaded_object.h"
#include "recorder/hooks/runtime/unknown_calls.h"

using namespace gfxgraph::recorder;

namespace {

bool is_row(int index) noexcept { return index < kCallCount; }

hipError_t not_supported() { return hipErrorNotSupported; }

constexpr const char* kUnknownLookedUp = "looked up; gfxgraph does not know this function";
constexpr const char* kHsaLookedUp =
    "looked up: device work that is given to HSA directly is not recorded";

// The hook of a function that no row describes; what was found otherwise.
void* hook_or_note(const char* name, void* found, const char* note = kUnknownLookedUp) noexcept {
  bool full = false;
  void* const hook = hook_unknown_call(name, found, &full);
  if (full && recorder().active()) recorder().note_incomplete(name, note);
  return hook;
}

constexpr gfxgraph::preload::HookTable kHookTable{
    .find = [](std::string_view name) { return find_call(name); },
    .hook = hook_function,
    .real = real_function,
    .learn = learn_real_function,
    .next = hip_dlsym,
    .unknown = [](const char* name, void* found) { return hook_or_note(name, found); }};

}  // namespace

// The function to call instead of hook `index`. `site`: where the hook was called.
extern "C" __attribute__((visibility("hidden"))) void* gfxgraph_enter_passed_call(
    int index, const void* site) {
  const DeferredCancellation deferred;
  if (++hook_depth > 1 && called_by_program(site)) [[unlikely]]
    note_nested(index);
  if (!is_row(index)) return unknown_call_function(index - kCallCount);
  if (Recorder::elsewhere()) [[unlikely]]
    note_unrecorded(index);
  void* const function = real_function(index);
  return function != nullptr ? function : reinterpret_cast<void*>(&not_supported);
}

// `result` is what the call returned, a hipError_t if the function has a row.
extern "C" __attribute__((visibility("hidden"))) void gfxgraph_leave_passed_call(int index,
                                                                                 int result) {
  const DeferredCancellation deferred;
  if (--hook_depth != 0 || !recorder().active()) return;
  if (!is_row(index) && unknown_call_is_hsa(index - kCallCount)) {
    if (result != 0) return;
    recorder().note_incomplete(unknown_call_name(index - kCallCount), kHsaLookedUp);
  } else if (!is_row(index)) {
    recorder().note_incomplete(unknown_call_name(index - kCallCount),
                               "gfxgraph does not know this function");
  } else if (result == hipSuccess) {
    recorder().note_incomplete(display_name(index));
  }
  arrange_exit();
}

// ---- look-ups at run time -----------------------------------------------------------------------

extern "C" __attribute__((visibility("hidden"))) gfxgraph::preload::DlsymAnswer
gfxgraph_resolve_dlsym(void* handle, const char* name, const char*, const void* caller) {
  using gfxgraph::preload::DlsymAnswer;
  const DlsymAnswer ask_the_system{reinterpret_cast<void*>(gfxgraph::preload::system_dlsym()), 0};
  if (name == nullptr) return ask_the_system;
  if (may_be_roctx(name) && handle != RTLD_NEXT) {
    // As below: the hook exists whether or not the process has the library.
    void* const from = handle == RTLD_DEFAULT ? RTLD_NEXT : handle;
    void* const found =
        gfxgraph::preload::call_dlsym(gfxgraph::preload::system_dlsym(), from, name);
    if (found == nullptr) return {nullptr, 1};
    void* const hook = hook_roctx(name, found);
    return hook == found ? ask_the_system : DlsymAnswer{hook, 1};
  }
  // With RTLD_NEXT, a library that interposes HSA forwards HIP's calls.
  if (gives_hsa_work(name) && handle != RTLD_NEXT && !is_below_hip(caller)) {
    void* const found =
        gfxgraph::preload::call_dlsym(gfxgraph::preload::system_dlsym(), handle, name);
    void* const hook = hook_or_note(name, found, kHsaLookedUp);
    return hook == found ? ask_the_system : DlsymAnswer{hook, 1};
  }
  if (!gfxgraph::preload::may_be_hip(name)) return ask_the_system;
  return gfxgraph::preload::resolve_hip(kHookTable, handle, name);
}

namespace {

using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);

// glibc's dlvsym. Read from its symbol table: whatever would look it up finds this library's first,
// and what base/process/preload.cpp finds glibc's dlsym with is dlvsym itself.
DlvsymFunction system_dlvsym() noexcept {
  static constinit std::atomic<void*> cached{nullptr};
  void* function = cached.load(std::memory_order_relaxed);
  if (function == nullptr) {
    const auto find = [](dl_phdr_info* object, size_t, void* found) {
      const std::string_view file = file_name(object->dlpi_name);
      if (file != "libc.so.6" && file != "libdl.so.2") return 0;  // the latter before glibc 2.34
      void* const exported = LoadedObject(*object).exported_function("dlvsym");
      if (exported != nullptr) *static_cast<void**>(found) = exported;
      return exported != nullptr ? 1 : 0;
    };
    dl_iterate_phdr(find, &function);
    cached.store(function, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlvsymFunction>(function);
}

// Whether what dlvsym() finds is a function whose calls would be recorded or named.
bool leads_around(DlvsymFunction dlvsym, void* handle, const char* name,
                  const char* version) noexcept {
  if (gives_hsa_work(name)) return handle != RTLD_NEXT && dlvsym(handle, name, version) != nullptr;
  if (!gfxgraph::preload::may_be_hip(name) || std::strstr(name, "hip") == nullptr) return false;
  const int index = find_call(name);
  if (index >= 0 && hook_function(index) == nullptr) return false;
  // RTLD_DEFAULT and RTLD_NEXT depend on the caller, so the symbol is looked up in the HIP runtime.
  void* runtime = nullptr;
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) {
    char path[PATH_MAX];
    if (!gfxgraph::preload::find_loaded("libamdhip64", path)) return false;
    runtime = handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (runtime == nullptr) return false;
  }
  void* const found = dlvsym(handle, name, version);
  if (runtime != nullptr) (void)dlclose(runtime);
  return found != nullptr && (index >= 0 || is_function_of_runtime(found));
}

}  // namespace

// Always the system's result: a caller that requests a version probably needs that version.
extern "C" __attribute__((visibility("hidden"))) gfxgraph::preload::DlsymAnswer
gfxgraph_resolve_dlvsym(void* handle, const char* name, const char* version) {
  const DlvsymFunction dlvsym = system_dlvsym();
  if (dlvsym == nullptr) return {nullptr, 1};
  if (name != nullptr && version != nullptr && leads_around(dlvsym, handle, name, version)) {
    looked_up_around(name);
  }
  return {reinterpret_cast<void*>(dlvsym), 0};
}

GFXGRAPH_NEWER_HOOK(hipGetProcAddress, const char* name, void** function, int version,
                    uint64_t flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetProcAddress, name, function, version, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == gfxgraph::preload::kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_HOOK(hipGetProcAddress_spt, const char* name, void** function, int version,
                    uint64_t flags, void* status) {
  const Scope scope;
  const hipError_t result =
      real(kCall_hipGetProcAddress_spt, name, function, version, flags, status);
  if (result == hipSuccess) hook_pointer(kHookTable, name, function, true);
  return result;
}
GFXGRAPH_HOOK hipError_t hipGetDriverEntryPoint(const char* name, void** function,
                                                unsigned long long flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetDriverEntryPoint, name, function, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == gfxgraph::preload::kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_HOOK hipError_t hipGetDriverEntryPoint_spt(const char* name, void** function,
                                                    unsigned long long flags, void* status) {
  const Scope scope;
  const hipError_t result = real(kCall_hipGetDriverEntryPoint_spt, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(kHookTable, name, function, true);
  return result;
}
