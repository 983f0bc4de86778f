// HIP runtimes crash on malformed code objects: they trust offsets, names, symbol numbers and the
// counts of the metadata. Only checked objects are passed to them. Code and data are not checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// AMDGPUUsage, "Kernel Descriptor".
struct KernelDescriptor {
  static constexpr size_t kBytes = 64;
  std::array<std::byte, kBytes> bytes{};
  uint64_t file_offset = 0;
  // Of all arguments, hidden ones too.
  uint32_t kernarg_bytes() const;
};
// Of a kernel of a checked code object. Nothing: it has no such kernel, or no bytes for it.
std::optional<KernelDescriptor> find_descriptor(std::span<const std::byte> bytes,
                                                std::string_view kernel);

// A kernel's instructions, as the function of its name has them.
struct KernelCode {
  std::span<const std::byte> bytes;
  uint64_t address = 0;  // in the ELF
};
// Of a kernel of a checked code object. Nothing: it has no such function, or no bytes for it.
std::optional<KernelCode> find_kernel_code(std::span<const std::byte> bytes,
                                           std::string_view kernel);

}  // namespace gfxgraph::replayer
