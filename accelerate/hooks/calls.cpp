#include "accelerate/hooks/calls.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

namespace gfxgraph::accelerate {

#define HAS_HOOK_FLUSH(name) \
  extern "C"                 \
      __attribute__((visibility("default"))) void gfxgraph_accelerate_##name() __asm__(#name);
#define HAS_HOOK_KERNELS(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_DROP(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_RESET(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_STOP(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_CHECK(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_HOOK(name) HAS_HOOK_FLUSH(name)
#define HAS_HOOK_PASS(name)
#define GFXGRAPH_ACCELERATE_CALL(rule, name) HAS_HOOK_##rule(name)
#include "accelerate/hooks/calls.inc"
#undef GFXGRAPH_ACCELERATE_CALL

constinit const CallRow kCallRows[kCallCount] = {
#define GFXGRAPH_ACCELERATE_CALL(rule, name) {#name, CallRule::rule},
#include "accelerate/hooks/calls.inc"
#undef GFXGRAPH_ACCELERATE_CALL
};

namespace {

#define HOOK_OF_FLUSH(name) reinterpret_cast<void*>(&gfxgraph_accelerate_##name),
#define HOOK_OF_KERNELS(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_DROP(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_RESET(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_STOP(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_CHECK(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_HOOK(name) HOOK_OF_FLUSH(name)
#define HOOK_OF_PASS(name) nullptr,
void* const kHooks[kCallCount] = {
#define GFXGRAPH_ACCELERATE_CALL(rule, name) HOOK_OF_##rule(name)
#include "accelerate/hooks/calls.inc"
#undef GFXGRAPH_ACCELERATE_CALL
};

constinit std::atomic<uintptr_t> runtime_begin{0};
constinit std::atomic<uintptr_t> runtime_end{0};

// The segment with the runtime's code.
void learn_runtime() noexcept {
  if (runtime_end.load(std::memory_order_relaxed) != 0) return;
  const auto look = [](dl_phdr_info* info, size_t, void*) {
    const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (!path.substr(path.rfind('/') + 1).starts_with("libamdhip64")) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      runtime_begin.store(begin, std::memory_order_relaxed);
      runtime_end.store(begin + segment.p_memsz, std::memory_order_release);
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, nullptr);
}

}  // namespace

extern "C" {
// Trampolines read it.
__attribute__((visibility("hidden"))) constinit std::atomic<void*>
    gfxgraph_accelerate_real[kCallCount];
}
static_assert(sizeof(std::atomic<void*>) == sizeof(void*));

void* hook_function(int index) noexcept { return kHooks[index]; }

int find_call(std::string_view name) noexcept {
  const auto* const end = kCallRows + kCallCount;
  const auto* const row = std::lower_bound(
      kCallRows, end, name,
      [](const CallRow& r, std::string_view n) { return std::string_view(r.name) < n; });
  return row != end && name == row->name ? static_cast<int>(row - kCallRows) : -1;
}

void* find_real_function(int index) noexcept {
  void* const function = preload::find_hip_function(preload::next_dlsym(), kCallRows[index].name);
  if (function == nullptr) return nullptr;
  learn_runtime();
  gfxgraph_accelerate_real[index].store(function, std::memory_order_release);
  return function;
}

void* real_function(int index) noexcept {
  void* const function = gfxgraph_accelerate_real[index].load(std::memory_order_acquire);
  return function != nullptr ? function : find_real_function(index);
}

void learn_real_function(int index, void* function) noexcept {
  if (function == hook_function(index)) return;
  preload::keep_loaded(function);
  learn_runtime();
  void* expected = nullptr;
  gfxgraph_accelerate_real[index].compare_exchange_strong(expected, function);
}

bool is_of_runtime(const void* code) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(code);
  return address < runtime_end.load(std::memory_order_acquire) &&
         address >= runtime_begin.load(std::memory_order_relaxed);
}

}  // namespace gfxgraph::accelerate
