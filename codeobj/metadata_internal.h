// The AMDGPU metadata notes (code object V3-V6): MessagePack maps. LLVM's MsgPackDocument reads
// them after a check for input that it cannot handle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::codeobj::internal {

// Values of a note that must match the descriptor's. Nothing: the note has no such field.
struct FixedSizes {
  std::optional<uint32_t> group_segment_bytes;
  std::optional<uint32_t> private_segment_bytes;
};

struct Metadata {
  std::string target;               // "amdhsa.target"; empty in V3
  bool has_printf_formats = false;  // "amdhsa.printf"
  std::vector<FixedSizes> sizes;    // one per element of `kernels`
  // Names, sizes and arguments; descriptor and addresses are still zero.
  std::vector<Kernel> kernels;
};

// Parses the kernels of all notes: an object linked from several, such as Tensile's libraries, has
// one note for each. Rejects notes that contradict themselves: missing fields, arguments that
// overlap or lie outside the kernarg segment, counts that no GPU supports. Errors name the kernel
// and the field.
Result<Metadata> parse_metadata(std::span<const std::span<const std::byte>> notes);

}  // namespace gfxgraph::codeobj::internal
