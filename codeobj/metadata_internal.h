// The AMDGPU metadata notes (code object V3-V6): MessagePack maps, read with LLVM's MsgPackDocument
// behind a check of what it cannot take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::codeobj::internal {

// What the notes say twice: it must be in the descriptor too. Nothing: not said.
struct FixedSizes {
  std::optional<uint32_t> group_segment_bytes;
  std::optional<uint32_t> private_segment_bytes;
};

struct Metadata {
  std::string target;             // "amdhsa.target"; empty in V3
  std::vector<FixedSizes> sizes;  // of each of `kernels`
  // Names, sizes and arguments; descriptor and addresses are still zero.
  std::vector<Kernel> kernels;
};

// The kernels of all notes: an object that was linked from several, as Tensile's libraries are, has
// one note for each. Checks what the notes alone can contradict: missing fields, arguments that
// overlap or lie outside the kernarg segment, counts that no GPU can have. Errors name the kernel
// and the field.
Result<Metadata> parse_metadata(std::span<const std::span<const std::byte>> notes);

}  // namespace gfxgraph::codeobj::internal
