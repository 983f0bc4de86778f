// The functions of HIP, as rows of one table (calls.inc), and the runtime's functions behind the
// hooks. Constant data only: a library that registers kernels may call before this library's
// constructors have run.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/process/preload.h"

namespace gfxgraph::accelerate {

enum class CallRule : uint8_t { FLUSH, KERNELS, DROP, RESET, STOP, CHECK, PASS, HOOK };

enum CallIndex : int {
#define GFXGRAPH_ACCELERATE_CALL(rule, name) kCall_##name,
#include "accelerate/hooks/calls.inc"
#undef GFXGRAPH_ACCELERATE_CALL
  kCallCount,
};

struct CallRow {
  const char* name;
  CallRule rule;
};
extern const CallRow kCallRows[kCallCount];

// -1: no row.
int find_call(std::string_view name) noexcept;
// What a program gets for the row's name; nullptr: PASS.
void* hook_function(int index) noexcept;

// The function behind the hooks. nullptr: there is none.
void* find_real_function(int index) noexcept;
void* real_function(int index) noexcept;
// What a program found with dlsym on a handle of its own.
void learn_real_function(int index, void* function) noexcept;
// Whether the code there is the runtime's: its functions call each other through the dynamic
// linker, and must not come back to the hooks.
bool is_of_runtime(const void* code) noexcept;

}  // namespace gfxgraph::accelerate
