// Shared by the libraries that gfxgraph preloads into other programs: the functions behind their
// hooks. Needs no C++ run time, allocates nothing and has no constructors: it may run in any
// process, before any of it is initialised. Thread-safe.
//
// Linked into each of those libraries: RTLD_NEXT below means "after the library that calls".
#pragma once

#include <limits.h>

#include <cstdint>

namespace gfxgraph::preload {

using DlsymFunction = void* (*)(void* handle, const char* name);

// The dlsym of the software agent's errors of HIP (hsa/hip_errors), under the name of its own that
// it is exported by: gives the functions that answer them.
inline constexpr const char* kHipErrorsDlsym = "gfxgraph_hip_errors_dlsym";

// glibc's dlsym, even when preloaded libraries define another. nullptr: not found, not glibc.
DlsymFunction system_dlsym() noexcept;

// The dlsym of the next library that has one (the recorder, or the software agent's HIP errors),
// otherwise glibc's: what a program looks up and a library does not answer goes on there.
DlsymFunction next_dlsym() noexcept;

// Calls `dlsym` from this library. nullptr when `dlsym` is.
void* call_dlsym(DlsymFunction dlsym, void* handle, const char* name) noexcept;

// The path of the first loaded library whose file name begins with `prefix` (wheels rename theirs:
// libamdhip64-abc123.so), into `path`. False: none is loaded.
bool find_loaded(const char* prefix, char (&path)[PATH_MAX]) noexcept;

// Keeps the HIP runtime, the library that defines `function`, in the process: its functions are
// called when the process ends, even if the program has closed it before.
void keep_loaded(void* function) noexcept;

// The HIP runtime's function `name`: the next definition after this library, otherwise that of a
// libamdhip64 which was loaded outside of the global scope; kept loaded. nullptr: there is none.
void* find_hip_function(DlsymFunction dlsym, const char* name) noexcept;

// Whether a name can be one of libamdhip64's: most look-ups of a process are for others.
bool may_be_hip(const char* name) noexcept;

// The result of a library's gfxgraph_resolve_dlsym() for the dlsym of base/process/dlsym_hook.inc.
struct DlsymAnswer {
  void* value;       // rax: the result, or the dlsym to call
  uint64_t handled;  // rdx: 0 when `value` is another dlsym
};

}  // namespace gfxgraph::preload
