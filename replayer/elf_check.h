// HIP runtimes crash on bytes that are no code object, so nothing else is handed to them. This
// looks at the frame only (System V ABI, "Object Files"): what is inside is the runtime's business.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace gfxgraph::replayer {

// Ok for a 64-bit little-endian ELF for AMDGPU whose tables, segments and sections lie inside of
// `bytes`; else kCorrupt with what is wrong.
Result<void> check_code_object(std::span<const std::byte> bytes);

// Whether a checked code object has memory that kernels can write to.
bool has_variables(std::span<const std::byte> bytes);

}  // namespace gfxgraph::replayer
