// The source line of an instruction that a reader knows: not one in a header of HIP or the system.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codeobj/dwarf/inline_stack.h"

namespace gfxgraph::check {

// Whether the file is a header that comes with the compiler, ROCm or the system.
bool is_foreign_file(std::string_view file);

// The index in an inline stack of the innermost frame that is no such header; 0 if all are.
size_t user_frame(const std::vector<codeobj::SourceLocation>& stack);

// The frame of the instruction at this ELF address; empty without debug information.
std::optional<codeobj::SourceLocation> user_line(const codeobj::CodeObject& code, uint64_t address);

}  // namespace gfxgraph::check
