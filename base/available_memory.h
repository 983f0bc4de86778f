// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace gfxgraph {

// What the machine has available, swap included, or less where a control group limits the process.
// Physical memory if the system does not say. Others may take it meanwhile. `root`: what
// stands in front of the paths of the system; for tests. Throws only std::bad_alloc.
uint64_t available_memory_bytes(const std::string& root = {});

}  // namespace gfxgraph
