// HIP runtimes crash on bytes that are no code object, so nothing else is handed to them: they
// believe offsets, names, symbol numbers and the counts of the metadata. Code and data are not
// looked at.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::replayer {

// Ok for a 64-bit little-endian ELF for AMDGPU whose tables, segments, sections, names, symbols,
// relocations and notes lie where they may and whose metadata holds together (metadata_check.h);
// else kCorrupt with what is wrong.
Result<void> check_code_object(std::span<const std::byte> bytes);

// Whether a checked code object has memory that kernels can write to.
bool has_variables(std::span<const std::byte> bytes);
// The names of its variables and constants that have one: defined data symbols, without kernel
// descriptors.
std::vector<std::string> variable_names(std::span<const std::byte> bytes);

}  // namespace gfxgraph::replayer
