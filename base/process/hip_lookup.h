// Look-ups of HIP's functions at run time, by which a program gets the hooks of a preloaded
// library: dlsym (dlsym_hook.inc), hipGetProcAddress and hipGetDriverEntryPoint. As preload.h:
// linked into each of those libraries, needs nothing of C++'s run time, allocates nothing.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process/preload.h"

namespace gfxgraph::preload {

// HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
inline constexpr uint64_t kPerThreadDefaultStream = 2;

// The library's table of hooks. Its functions may be called before its constructors have run.
struct HookTable {
  int (*find)(std::string_view name);        // the index of the row; -1: none
  void* (*hook)(int index);                  // nullptr: the runtime's own is to be used
  void* (*real)(int index);                  // the function behind the hook; nullptr: there is none
  void (*learn)(int index, void* function);  // what a look-up found behind the hook
  DlsymFunction (*next)();                   // whose result counts: mostly next_dlsym()
  // What a program gets for a function of HIP's kind that has no row. `found`: what the look-up
  // gives, or nullptr. Not set: `found`.
  void* (*unknown)(const char* name, void* found) = nullptr;
};

// For a look-up of `name`, which is not nullptr.
DlsymAnswer resolve_hip(const HookTable& table, void* handle, const char* name);

// A function pointer that the runtime itself returned for `name`: replaced by the hook.
// `per_thread`: that of the variant for the thread's own default stream, if there is one.
void hook_pointer(const HookTable& table, const char* name, void** function, bool per_thread);

}  // namespace gfxgraph::preload
