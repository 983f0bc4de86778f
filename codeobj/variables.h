// The variables of a code object, including those it does not export.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

struct Variable {
  std::string name;
  uint64_t address = 0;  // ELF virtual address
  uint64_t size_bytes = 0;
  uint64_t room_bytes = 0;  // to the next variable or section: >= size_bytes
};

// The variables in writable sections, from .symtab, in order of address and without overlaps. Empty
// if symbols are stripped or damaged: the exported variables alone do not cover the sections.
std::vector<Variable> variables_of(const CodeObject& code);

}  // namespace gfxgraph::codeobj
