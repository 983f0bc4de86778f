// What a launch passes: the explicit part of the kernarg segment, built from either form of the
// call. Which of its words are pointers: word_resolver.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

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

// "argument 2 'p' of kernel name, offset 16": where a relocation sits, for messages.
std::string describe_kernarg_offset(const format::Kernel& kernel, uint64_t offset_bytes);

}  // namespace gfxgraph::recorder
