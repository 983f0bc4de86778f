// Puts a code object's segments and dynamic relocations into memory, as a loader does. Source: LLVM
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

namespace gfxgraph::codeobj {

// Device address of a symbol that the object does not define; nothing when nobody defines it.
using SymbolResolver = std::function<std::optional<uint64_t>(const std::string&)>;

// How many bytes a relocation of this type (R_AMDGPU_*) changes: none for R_AMDGPU_NONE, 1 for
// types that load_segments() refuses.
uint32_t relocation_bytes(uint32_t type);

// Fills `memory` (load_size_bytes(), zeroed by the caller) with the object as loaded so that its
// ELF address 0 stands at device address `load_address`. kUnsupported for a relocation type that a
// loader never sees, kNotFound for an undefined symbol.
Result<void> load_segments(const CodeObject& code, std::span<std::byte> memory,
                           uint64_t load_address, const SymbolResolver& resolve);

}  // namespace gfxgraph::codeobj
