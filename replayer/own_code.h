// The library's own kernels, compiled in advance (scripts/make-own-code).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gfxgraph::replayer {

// The code object for an architecture ("gfx1030"); empty: there is none.
std::vector<std::byte> own_code(const std::string& architecture);

}  // namespace gfxgraph::replayer
