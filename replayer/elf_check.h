// HIP runtimes crash on malformed code objects: they trust offsets, names, symbol numbers and the
// counts of the metadata. Only checked objects are passed to them. Code and data are not checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::replayer {

// Ok for a 64-bit little-endian ELF for AMDGPU whose tables, segments, sections, names, symbols,
// relocations and notes are within bounds and whose metadata is consistent (metadata_check.h);
// otherwise kCorrupt with the reason.
Result<void> check_code_object(std::span<const std::byte> bytes);

// Whether a checked code object has memory that kernels can write to.
bool has_variables(std::span<const std::byte> bytes);
// The names of its variables and constants that have one: defined data symbols, without kernel
// descriptors.
std::vector<std::string> variable_names(std::span<const std::byte> bytes);

}  // namespace gfxgraph::replayer
