// The functions of a code object: kernels and the functions they call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

// The name, as the linker wrote it, of the function in .symtab that contains ELF virtual address
// `address`. "" if there is none, e.g. because symbols are stripped or damaged. Thread-safe; reads
// the whole table on every call.
std::string function_at(const CodeObject& code, uint64_t address);

// The ELF virtual address of the function of that name in .symtab; nothing if there is none. Same
// cost as above.
std::optional<uint64_t> function_address(const CodeObject& code, std::string_view name);

// Whether .symtab has a function of that name; false if symbols are stripped. Same cost as above.
bool has_function(const CodeObject& code, std::string_view name);

}  // namespace gfxgraph::codeobj
