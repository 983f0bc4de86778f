#include "recorder/hooks/runtime/unknown_calls.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "recorder/hooks/runtime/bound_around.h"
#include "recorder/hooks/runtime/hsa_work.h"
#include "recorder/hooks/runtime/loaded_object.h"
#include "recorder/lock_order.h"

// trampolines.S
extern "C" __attribute__((visibility("hidden"))) void gfxgraph_unknown_hooks();

namespace gfxgraph::recorder {
namespace {

constexpr size_t kHookBytes = 16;

struct Slot {
  std::atomic<void*> function{nullptr};
  bool hsa = false;
  char name[120] = {};
};
constinit Slot slots[GFXGRAPH_UNKNOWN_CALLS];
constinit Mutex<LockRank::kLast> slots_mutex;

}  // namespace

bool is_function_of_runtime(void* address) noexcept {
  Dl_info info{};
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) return false;
  if (info.dli_fname == nullptr || !file_name(info.dli_fname).starts_with("libamdhip64"))
    return false;
  return symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

namespace {

bool is_hsa_work(const char* name, void* function) noexcept {
  Dl_info info{};
  return gives_hsa_work(name) && dladdr(function, &info) != 0 && info.dli_fname != nullptr &&
         file_name(info.dli_fname).find("hsa-runtime64") != std::string_view::npos;
}

// A free hook, or the one that it has; nullptr: there is none left.
void* hook_of(const char* name, void* function, bool hsa) noexcept {
  const auto hooks = reinterpret_cast<uintptr_t>(&gfxgraph_unknown_hooks);
  const std::lock_guard lock(slots_mutex);
  for (size_t i = 0; i < GFXGRAPH_UNKNOWN_CALLS; ++i) {
    Slot& slot = slots[i];
    void* const known = slot.function.load(std::memory_order_relaxed);
    if (known == nullptr) {
      std::strncpy(slot.name, name, sizeof(slot.name) - 1);
      slot.hsa = hsa;
      slot.function.store(function, std::memory_order_release);
    }
    if (known == nullptr || known == function) {
      return reinterpret_cast<void*>(hooks + i * kHookBytes);
    }
  }
  return nullptr;
}

}  // namespace

void* hook_unknown_call(const char* name, void* function, bool* full) noexcept {
  *full = false;
  if (function == nullptr) return function;
  const bool hsa = is_hsa_work(name, function);
  if (!hsa && !is_function_of_runtime(function)) return function;
  void* const hook = hook_of(name, function, hsa);
  *full = hook == nullptr;
  return hook != nullptr ? hook : function;
}

void* hook_table_call(const char* name, void* function) noexcept {
  return hook_of(name, function, false);
}

void* unknown_call_function(int slot) noexcept {
  return slots[slot].function.load(std::memory_order_acquire);
}

const char* unknown_call_name(int slot) noexcept { return slots[slot].name; }

bool unknown_call_is_hsa(int slot) noexcept { return slots[slot].hsa; }

}  // namespace gfxgraph::recorder
