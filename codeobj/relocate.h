// Copies a code object's segments into memory and applies its dynamic relocations, as a loader
// does. Source: LLVM AMDGPUUsage, "Relocation Records".
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

// Device address of a symbol that the object does not define; nothing if it is undefined.
using SymbolResolver = std::function<std::optional<uint64_t>(const std::string&)>;

// The number of bytes that a relocation of this type (R_AMDGPU_*) changes: 0 for R_AMDGPU_NONE, 1
// for types that load_segments() rejects.
uint32_t relocation_bytes(uint32_t type);

// Fills `memory` (load_size_bytes(), zeroed by the caller) with the loaded object, so that its ELF
// address 0 is at device address `load_address`. Returns kUnsupported for a relocation type that is
// not dynamic, kNotFound for an undefined symbol.
Result<void> load_segments(const CodeObject& code, std::span<std::byte> memory,
                           uint64_t load_address, const SymbolResolver& resolve);

}  // namespace gfxgraph::codeobj
