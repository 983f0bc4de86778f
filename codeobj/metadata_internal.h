// The AMDGPU metadata notes (code object V3-V6): MessagePack maps, read with LLVM's MsgPackDocument
// behind a check of what it cannot take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::codeobj::internal {

struct Metadata {
  std::string target;  // "amdhsa.target"; empty in V3
  // Names, sizes and arguments; descriptor and addresses are still zero.
  std::vector<Kernel> kernels;
};

// The kernels of all notes: an object that was linked from several, as Tensile's libraries are, has
// one note for each. Checks what the notes alone can contradict: missing fields, arguments that
// overlap or lie outside the kernarg segment, counts that no GPU can have. Errors name the kernel
// and the field.
Result<Metadata> parse_metadata(std::span<const std::span<const std::byte>> notes);

}  // namespace gfxgraph::codeobj::internal
