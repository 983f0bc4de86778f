// Functions of the program that are called when memory of a pool is freed
// (hsa_amd_register_deallocation_callback).
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

namespace gfxgraph::hsa {

// Call before the allocation that begins at `pointer` is released: calls the functions that were
// registered for addresses in it, each once, on this thread and with no lock held. During these
// calls the allocation cannot be freed again.
void tell_of_release(const void* pointer);

// Whether tell_of_release() is running for this allocation, on any thread.
bool is_being_released(const void* pointer);

}  // namespace gfxgraph::hsa
