/* Functions of the HIP runtime that hip_calls.inc has no row for: those of runtimes newer than this
   program. Nothing is known of them, so a call makes the trace incomplete. So do the functions of
   HSA that give it work past HIP. Also included by trampolines.S. */
#pragma once

#define GFXGRAPH_UNKNOWN_CALLS 64

#ifndef __ASSEMBLER__

namespace gfxgraph::recorder {

// By its address: many libraries of ROCm have functions whose names begin with "hip".
bool is_function_of_runtime(void* address) noexcept;

// What a program shall get for `function`, which it looked up as `name`: a hook that tells of its
// calls if this is a function of the HIP runtime, or one of the HSA runtime that gives it work,
// else `function` itself. `full` is set when it is one and there are no hooks left. Allocates
// nothing; thread-safe.
void* hook_unknown_call(const char* name, void* function, bool* full) noexcept;

// The same for an entry without a row of HIP's table of functions (api_table.cpp). nullptr: there
// are no hooks left.
void* hook_table_call(const char* name, void* function) noexcept;

// Of hook `slot`, which is one of GFXGRAPH_UNKNOWN_CALLS.
void* unknown_call_function(int slot) noexcept;
const char* unknown_call_name(int slot) noexcept;
bool unknown_call_is_hsa(int slot) noexcept;

}  // namespace gfxgraph::recorder

#endif
