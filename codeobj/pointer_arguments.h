// Arguments that are pointers although the kernel's metadata calls them numbers, because some
// compilers and generators write metadata by their own rules; pointer_arguments.inc lists the
// rules.
#pragma once

#include <cstdint>
#include <string_view>

namespace gfxgraph::codeobj {

// Why the argument is a pointer, as text for users; nullptr: no rule applies. `kernel` is the
// symbol.
const char* pointer_argument(std::string_view kernel, std::string_view argument,
                             uint32_t size_bytes) noexcept;

}  // namespace gfxgraph::codeobj
