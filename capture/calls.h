// The calls that the layer answers, as rows of one table (calls.inc), and the runtime's functions
// behind them. Constant data only: a library that registers kernels may call before this library's
// constructors have run.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/process/preload.h"

namespace gfxgraph::capture {

enum class CallRule : uint8_t { HOOK, UNSAFE, LEGACY, DEVICE, STREAM, GRAPH, EXEC };

enum CallIndex : int {
#define GFXGRAPH_CAPTURE_CALL(rule, name, ...) kCall_##name,
#include "capture/calls.inc"
#undef GFXGRAPH_CAPTURE_CALL
  kCallCount,
};

struct CallRow {
  const char* name;
  CallRule rule;
  int8_t stream_argument;  // of STREAM; -1: none
};
extern const CallRow kCallRows[kCallCount];

// -1: no row.
int find_call(std::string_view name) noexcept;
// As a person writes it: mangled names are long.
const char* display_name(int index) noexcept;
// What a program gets for the row's name.
void* hook_function(int index) noexcept;

// The function behind the layer: the recorder's hook, if a recorder is loaded, else the runtime's.
// nullptr: there is none.
extern constinit std::atomic<void*> real_functions[kCallCount];
void* find_real_function(int index) noexcept;
inline void* real_function(int index) noexcept {
  void* const function = real_functions[index].load(std::memory_order_acquire);
  return function != nullptr ? function : find_real_function(index);
}
// What a program found with dlsym on a handle of its own.
void learn_real_function(int index, void* function) noexcept;
// A function of the runtime without a row, which the layer calls itself. nullptr: there is none.
void* runtime_function(const char* name) noexcept;

}  // namespace gfxgraph::capture
