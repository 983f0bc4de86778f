// Applies an AMDGPU code object's dynamic relocations to its loaded bytes. Source: LLVM
// AMDGPUUsage, "Relocation Records".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::hsa {

// Device address of a symbol by name; nothing when it is undefined.
using SymbolResolver = std::function<std::optional<uint64_t>(const std::string&)>;

// `memory` holds the ELF addresses [first_address, first_address + memory.size()); the ELF's
// address 0 is loaded at `load_address`. kCorrupt for a place outside, kUnsupported for a type that
// a loader never sees, kNotFound for an undefined symbol.
Result<void> apply_relocations(const codeobj::CodeObject& code, std::span<std::byte> memory,
                               uint64_t first_address, uint64_t load_address,
                               const SymbolResolver& resolve);

}  // namespace gfxgraph::hsa
