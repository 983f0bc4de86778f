// The variables of a code object, those that it does not export included.
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

// Those in writable sections, in order of address and without overlaps, by .symtab. Empty when
// symbols are stripped or damaged: what lies between exported variables is not known then.
std::vector<Variable> variables_of(const CodeObject& code);

}  // namespace gfxgraph::codeobj
