// The doors to the hooks that are no calls by link: look-ups at run time, and the calls of
// trampolines.S, which are passed on.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "accelerate/hooks/hooks_internal.h"
#include "base/process/hip_lookup.h"

using namespace gfxgraph::accelerate;
using namespace gfxgraph::preload;

namespace {

constexpr const char* kUnknown = "looked up; gfxgraph does not know this function of HIP";
constexpr const char* kHsa = "looked up: HSA can reach the device past HIP";

hipError_t not_supported() { return hipErrorNotSupported; }

enum class End : uint8_t { LAST, ABORT, EXEC };
struct EndRow {
  const char* name;
  End kind;
};
constexpr EndRow kEnds[] = {
#define GFXGRAPH_ACCELERATE_END(kind, name) {#name, End::kind},
#include "accelerate/hooks/ends.inc"
#undef GFXGRAPH_ACCELERATE_END
};

void* end_of_program(const EndRow& row) noexcept {
  end_process(row.kind != End::ABORT);
  return call_dlsym(system_dlsym(), RTLD_NEXT, row.name);
}

// By rule. True: the result of the call counts.
bool tell_holder(int index, const void* caller) noexcept {
  const CallRow& row = kCallRows[index];
  switch (row.rule) {
    case CallRule::HOOK:
    case CallRule::PASS: return false;
    case CallRule::FLUSH:
      if (Holder* const all = told(caller); all != nullptr) all->before();
      return false;
    case CallRule::KERNELS:
      if (Holder* const all = told_always(caller); all != nullptr) all->uses_kernels(this_thread());
      return false;
    case CallRule::DROP:
    case CallRule::RESET:
      if (Holder* const all = told(caller); all != nullptr) {
        if (all->waits_of_one_thread() && all->on()) all->thread_waits(this_thread());
        all->forget(row.name, row.rule == CallRule::RESET);
      }
      return false;
    case CallRule::STOP:
      if (is_of_program(caller)) stop_process(row.name, "called");
      return false;
    case CallRule::CHECK: return told(caller) != nullptr;
  }
  return false;
}

struct Entered {
  void* function;  // rax
  uint64_t check;  // rdx: not 0: gfxgraph_accelerate_failed() is told if it returns an error
};

}  // namespace

extern "C" __attribute__((visibility("hidden"))) Entered
gfxgraph_accelerate_enter(int index, const void* caller) {
  if (index >= kCallCount) return {end_of_program(kEnds[index - kCallCount]), 0};
  const bool check = tell_holder(index, caller);
  void* const function = real_function(index);
  return {function != nullptr ? function : reinterpret_cast<void*>(&not_supported),
          uint64_t{check}};
}

extern "C" __attribute__((visibility("hidden"))) void gfxgraph_accelerate_failed() {
  if (Holder* const all = holder(); all != nullptr) all->failed(this_thread());
}

// ---- look-ups at run time -----------------------------------------------------------------------

namespace {

// Whether the code there is of HIP, of HSA or of a profiler, which do so for HIP or look on.
bool is_below_hip(const void* code) noexcept {
  Dl_info info{};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string_view path = info.dli_fname;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kBelow[] = {"libamdhip64",    "libhsa-",  "libroctracer",
                                         "librocprofiler", "librocm_", "libgfxgraph-"};
  return std::ranges::any_of(kBelow, [&](auto name) { return file.starts_with(name); });
}

// A function of the runtime without a row may give work to the device.
void* note_unknown(const char* name, void* found) {
  (void)real_function(kCall_hipGetLastError);  // so that the runtime's code is known
  if (found != nullptr && is_of_runtime(found)) stop_process(name, kUnknown);
  return found;
}

constexpr HookTable kHookTable{.find = find_call,
                               .hook = hook_function,
                               .real = real_function,
                               .learn = learn_real_function,
                               .next = next_dlsym,
                               .unknown = note_unknown};

}  // namespace

extern "C" __attribute__((visibility("hidden"))) DlsymAnswer
gfxgraph_accelerate_dlsym(void* handle, const char* name, const char*, const void* caller) {
  if (name == nullptr) return {reinterpret_cast<void*>(next_dlsym()), 0};
  if (handle != RTLD_NEXT && std::strncmp(name, "hsa_", 4) == 0 && !is_below_hip(caller))
    stop_process(name, kHsa);
  return resolve_hip(kHookTable, handle, name);
}

// A name of its own for the compiler, HIP's name for the linker: HIP 5.2.3's headers lack them.
#define GFXGRAPH_NEWER_HOOK(name, ...)                                          \
  GFXGRAPH_ACCELERATE_HOOK hipError_t newer_##name(__VA_ARGS__) __asm__(#name); \
  hipError_t newer_##name(__VA_ARGS__)

GFXGRAPH_NEWER_HOOK(hipGetProcAddress, const char* name, void** function, int version,
                    uint64_t flags, void* status) {
  const hipError_t result = real(kCall_hipGetProcAddress, name, function, version, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_HOOK(hipGetDriverEntryPoint, const char* name, void** function,
                    unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint, name, function, flags, status);
  if (result == hipSuccess)
    hook_pointer(kHookTable, name, function, flags == kPerThreadDefaultStream);
  return result;
}
GFXGRAPH_NEWER_HOOK(hipGetDriverEntryPoint_spt, const char* name, void** function,
                    unsigned long long flags, void* status) {
  const hipError_t result = real(kCall_hipGetDriverEntryPoint_spt, name, function, flags, status);
  if (result == hipSuccess) hook_pointer(kHookTable, name, function, true);
  return result;
}
