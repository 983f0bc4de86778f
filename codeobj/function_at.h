// The functions of a code object, kernels and what they call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

// The name, as the linker wrote it, of the function in .symtab whose bytes hold the ELF virtual
// address `address`. "" when there is none: symbols are stripped from a code object, or damaged.
// Thread-safe; reads the whole table each time.
std::string function_at(const CodeObject& code, uint64_t address);

// Whether .symtab has a function of that name; false when symbols are stripped. As above.
bool has_function(const CodeObject& code, std::string_view name);

}  // namespace gfxgraph::codeobj
