// The arguments of a launch: the explicit part of the kernarg segment, built from either form of
// the call. word_resolver.h determines which of its words are pointers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "recorder/objects/raw_actions.h"

namespace gfxgraph::recorder {

// Whether HIP has read the arguments in a call that has just succeeded, or is about to read them:
// else they may lie where nothing can be read.
enum class ArgumentsAre : bool { kUnknown, kReadByHip };
// Of a call that begins, with a kernel that HIP knows: whether it refuses the shape before it reads
// them.
ArgumentsAre arguments_before(const LaunchShape& shape) noexcept;

// From kernelParams: one pointer per explicit argument, in order. Padding and hidden arguments are
// zero (their size comes from the code object; a launch never passes it).
// The forms that fill a vector allocate nothing once it has held as much.
// False: an argument cannot be read.
[[nodiscard]] bool kernarg_from_params(const format::Kernel& kernel, void* const* params,
                                       ArgumentsAre are, std::vector<uint8_t>& kernarg);

// From `extra`: key, value, ..., end, in any order (HIP: 1 buffer pointer, 2 pointer to its size, 3
// or a null key ends the list). Without argument metadata the whole buffer is kept.
Result<void> kernarg_from_extra(const format::Kernel& kernel, void* const* extra, ArgumentsAre are,
                                std::vector<uint8_t>& kernarg);

// From whichever of the two forms the launch has, its explicit arguments.
Result<void> kernarg_from_call(const format::Kernel& kernel, void* const* params,
                               void* const* extra, ArgumentsAre are, std::vector<uint8_t>& kernarg);

// The bit of an ambiguous word at this byte of the arguments, in KernelEntry::ambiguous_reported.
// The last bit stands for all words from byte 252 on.
inline uint64_t ambiguous_bit(uint64_t offset_bytes) noexcept {
  return uint64_t{1} << std::min<uint64_t>(offset_bytes / 4, 63);
}

// "argument 2 'n' at byte 8", or "kernarg byte 12" between arguments.
std::string describe_argument(const format::Kernel& kernel, uint64_t offset_bytes);
// "argument 2 'n' at byte 8 of kernel name".
std::string describe_kernarg_offset(const format::Kernel& kernel, uint64_t offset_bytes);

}  // namespace gfxgraph::recorder
