// Arguments that are pointers although a kernel's metadata calls them numbers: whose compilers or
// generators write the metadata by rules of their own, and what those rules are.
#pragma once

#include <cstdint>
#include <string_view>

namespace gfxgraph::codeobj {

// Why the argument is a pointer, for a reader; nullptr: no rule says so. `kernel` is the symbol.
const char* pointer_argument(std::string_view kernel, std::string_view argument,
                             uint32_t size_bytes) noexcept;

}  // namespace gfxgraph::codeobj
