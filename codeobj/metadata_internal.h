// The AMDGPU metadata note (code object V3-V6): a MessagePack map. Read with LLVM's token reader
// into a tree of our own, because LLVM's MsgPackDocument has undefined behaviour for keys that are
// maps.
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

// Checks what the note alone can contradict: missing fields, arguments that overlap or lie outside
// the kernarg segment, counts that no GPU can have. Errors name the kernel and the field.
Result<Metadata> parse_metadata(std::span<const std::byte> note);

}  // namespace gfxgraph::codeobj::internal
