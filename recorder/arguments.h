// What a launch passes: the explicit part of the kernarg segment, built from either form of the
// call, and the pointers in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "recorder/allocation_map.h"

namespace gfxgraph::recorder {

// From kernelParams: one pointer per explicit argument, in order. Padding and hidden arguments are
// zero (their size comes from the code object; a launch never passes it).
// The forms that fill a vector allocate nothing once it has held as much.
void kernarg_from_params(const format::Kernel& kernel, void* const* params,
                         std::vector<uint8_t>& kernarg);
std::vector<uint8_t> kernarg_from_params(const format::Kernel& kernel, void* const* params);

// From `extra`: key, value, ..., end, in any order (HIP: 1 buffer pointer, 2 pointer to its size, 3
// or a null key ends the list). Without argument metadata the whole buffer is kept.
Result<void> kernarg_from_extra(const format::Kernel& kernel, void* const* extra,
                                std::vector<uint8_t>& kernarg);
Result<std::vector<uint8_t>> kernarg_from_extra(const format::Kernel& kernel, void* const* extra);

// The pointers in a kernarg segment. Typed: a global_buffer argument whose value lies in a live
// allocation (others, 0 and 1 and the like, stay what they are). Matched: any other 4-byte aligned
// 8-byte word with such a value; `ambiguous` where only the value speaks for a pointer:
//  - a by_value argument of 8 bytes: it may be a number;
//  - a word across two arguments, or in a struct but not 8-byte aligned;
//  - a target that is not 4-byte aligned inside its allocation, or its one-past-the-end address.
void find_kernarg_relocations(const format::Kernel& kernel, std::span<const uint8_t> kernarg,
                              const AllocationMap& map, std::vector<format::Relocation>& found);
std::vector<format::Relocation> find_kernarg_relocations(const format::Kernel& kernel,
                                                         std::span<const uint8_t> kernarg,
                                                         const AllocationMap& map);

// The pointers among the 8-byte aligned words of memory at `bytes` (its start counts as aligned),
// those to freed allocations included: memory keeps them, and a replay must find them again.
std::vector<format::Relocation> find_memory_relocations(std::span<const std::byte> bytes,
                                                        const AllocationMap& map);

// "argument 2 'p' of kernel name, offset 16": where a relocation sits, for messages.
std::string describe_kernarg_offset(const format::Kernel& kernel, uint64_t offset_bytes);

}  // namespace gfxgraph::recorder
