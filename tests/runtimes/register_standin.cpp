// A stand-in for rocprofiler-register and for a HIP that was built with it, which Debian's is not:
// preloaded, it finds the tables of functions of the real libamdhip64 (6.2 and newer: each exported
// function first calls one that returns its table) and hands them to the tool's library that
// ROCPROFILER_REGISTER_LIBRARY names, as rocprofiler-register does at HIP's first call. With
// STANDIN_LATE=1 only when the program calls gfxgraph_test_attach(), as for a tool that attaches.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// What the first call in the code of `name` returns.
void* table_of(const char* name) {
  auto* code = static_cast<const uint8_t*>(dlsym(RTLD_NEXT, name));
  if (code == nullptr) return nullptr;
  constexpr int kFar = 48;
  for (int i = 0; i < kFar; ++i) {
    if (code[i] != 0xe8) continue;
    int32_t away = 0;
    std::memcpy(&away, code + i + 1, sizeof(away));
    return reinterpret_cast<void* (*)()>(reinterpret_cast<uintptr_t>(code + i + 5) + away)();
  }
  return nullptr;
}

using Set = int (*)(const char*, uint64_t, uint64_t, void**, uint64_t);

bool give(Set set, const char* name, const char* function) {
  void* table = table_of(function);
  if (table == nullptr) return false;
  size_t bytes = 0;
  std::memcpy(&bytes, table, sizeof(bytes));
  const uint64_t version = bytes > 480 * sizeof(void*) ? 70204 : 60403;
  return set(name, version, 0, &table, 1) == 0;
}

void hand_over() {
  const char* const path = std::getenv("ROCPROFILER_REGISTER_LIBRARY");
  if (path == nullptr || dlsym(RTLD_NEXT, "hipMalloc") == nullptr) return;  // no program of HIP's
  void* const tool = dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
  auto* const set =
      reinterpret_cast<Set>(tool == nullptr ? nullptr : dlsym(tool, "rocprofiler_set_api_table"));
  if (set == nullptr || !give(set, "hip_compiler", "__hipRegisterFatBinary") ||
      !give(set, "hip", "hipMalloc")) {
    std::fprintf(stderr, "register_standin: %s\n",
                 tool == nullptr ? dlerror() : "no tables were taken");
    std::abort();
  }
}

const bool at_start = [] {
  if (std::getenv("STANDIN_LATE") == nullptr) hand_over();
  return true;
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) void gfxgraph_test_attach() { hand_over(); }
