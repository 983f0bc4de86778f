// The library's own kernels, compiled in advance (scripts/make-own-code).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gfxgraph::replayer {

// The code object for an architecture ("gfx1030"); empty: there is none. The sizes are those that
// its metadata gives for gfxgraph_enter (entry_code.h).
std::vector<std::byte> own_code(const std::string& architecture, uint32_t entry_group_bytes = 0,
                                uint32_t entry_private_bytes = 0);

}  // namespace gfxgraph::replayer
