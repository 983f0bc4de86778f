// Hooks in HIP's own tables of functions, by which its exported functions reach their code: where
// HIP lets a tool in by rocprofiler-register (hooks/door), nothing needs to stand in front of it.
// Source: hip/amd_detail/hip_api_trace.hpp and rocprofiler-register.h.
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/runtime/loaded_object.h"
#include "recorder/hooks/runtime/unknown_calls.h"

namespace gfxgraph::recorder {

constinit std::atomic<bool> came_by_table{false};

namespace {

constexpr const char* kRuntimeEntries[] = {
#define GFXGRAPH_HIP_ENTRY(name) #name,
#include "recorder/hooks/runtime/api_table.inc"
#undef GFXGRAPH_HIP_ENTRY
};
// HipCompilerDispatchTable: what clang's host code calls.
constexpr const char* kCompilerEntries[] = {
    "__hipPopCallConfiguration", "__hipPushCallConfiguration", "__hipRegisterFatBinary",
    "__hipRegisterFunction",     "__hipRegisterManagedVar",    "__hipRegisterSurface",
    "__hipRegisterTexture",      "__hipRegisterVar",           "__hipUnregisterFatBinary",
};
constexpr const char* kNewerEntry = "a function at the end of HIP's table of functions";

struct Table {
  size_t size_bytes;  // of all of it
  void* functions[1];
};

// Other threads may call by the table meanwhile.
void put(void*& place, void* function) noexcept {
  __atomic_store_n(&place, function, __ATOMIC_RELEASE);
}

void take(Table& table, std::span<const char* const> names) noexcept {
  const size_t count = (table.size_bytes - offsetof(Table, functions)) / sizeof(void*);
  for (size_t i = 0; i < count; ++i) {
    void*& place = table.functions[i];
    void* const own = place;
    if (own == nullptr) continue;
    const char* const name = i < names.size() ? names[i] : kNewerEntry;
    const int index = i < names.size() ? find_call(name) : -1;
    void* const hook = index < 0 ? hook_table_call(name, own) : hook_function(index);
    if (index >= 0 && own != hook) real_functions[index].store(own, std::memory_order_release);
    if (hook != nullptr) {
      put(place, hook);
    } else if (index < 0 && recorder().active()) {
      recorder().note_incomplete(name, "gfxgraph does not know this function");
    }
  }
}

// Whether the dynamic linker finds this library's functions before HIP's.
bool is_in_front() noexcept {
  enum class First { kNone, kThis, kHip } first = First::kNone;
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    const auto own = reinterpret_cast<uintptr_t>(&is_in_front) - info->dlpi_addr;
    const bool is_this = std::any_of(
        info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum, [&](const ElfW(Phdr) & segment) {
          return segment.p_type == PT_LOAD && own - segment.p_vaddr < segment.p_memsz;
        });
    const bool is_hip = file_name(info->dlpi_name).starts_with("libamdhip64");
    if (!is_this && !is_hip) return 0;
    *static_cast<First*>(data) = is_this ? First::kThis : First::kHip;
    return 1;
  };
  dl_iterate_phdr(look, &first);
  return first == First::kThis;
}

// As rocprofiler-register computes it: 10000 * major + 100 * minor + patch.
constexpr uint64_t kFirstVersion = 60000;

}  // namespace
}  // namespace gfxgraph::recorder

// For the door's own library (hooks/door). 0: taken, or of no interest. `tables`: of `name`, each
// as long as its first word says. May be called while other threads call HIP.
GFXGRAPH_HOOK int gfxgraph_recorder_api_table(const char* name, uint64_t version, uint64_t instance,
                                              void** tables, uint64_t table_count) {
  using namespace gfxgraph::recorder;
  const std::string_view of = name != nullptr ? name : "";
  if (of != "hip" && of != "hip_compiler") return 0;
  const DeferredCancellation deferred;
  if (tables == nullptr || table_count == 0 || tables[0] == nullptr || version < kFirstVersion)
    return 1;
  auto& table = *static_cast<Table*>(tables[0]);
  if (table.size_bytes < sizeof(Table)) return 1;
  // Preloaded, the hooks are in front of HIP: those in its table would be called by them.
  if (is_in_front()) return 0;
  if (instance != 0) {
    if (recorder().active()) {
      recorder().note_incomplete("libamdhip64",
                                 "loaded more than once; calls of one copy are not recorded");
    }
    return 0;
  }
  came_by_table.store(true, std::memory_order_release);
  take(table, of == "hip" ? std::span<const char* const>(kRuntimeEntries) : kCompilerEntries);
  return 0;
}

// The recording ends with what was recorded; the hooks stay, and pass calls on.
GFXGRAPH_HOOK void gfxgraph_recorder_detach() {
  using namespace gfxgraph::recorder;
  const DeferredCancellation deferred;
  if (recorder().active()) recorder().finish(Recorder::Ends::kForGood);
}
