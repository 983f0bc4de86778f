// The calls that the compiler replaced by the bodies of functions.
#pragma once

#include <cstdint>
#include <vector>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

// The source of the instruction at ELF virtual address `address`: first source_location(), then, if
// its function was inlined, the place of the call and the function that contains the call, and so
// on up to the function that has code of its own. File and line of a call are "" and 0 if the debug
// information lacks them. Empty if source_location() is. Thread-safe; cost as of source_location().
std::vector<SourceLocation> inline_stack(const CodeObject& code, uint64_t address);

}  // namespace gfxgraph::codeobj
