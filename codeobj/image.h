// Code that a program has in its memory and hands over without a length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"

namespace gfxgraph::codeobj {

// The size in bytes of the device ELF or offload bundle at `image`, of which `readable_bytes` can
// be read. Reads only what its headers declare.
Result<uint64_t> image_size(const std::byte* image, uint64_t readable_bytes);

// Bytes from `address` to the end of the contiguous readable memory of this process. Nothing: the
// list of its memory cannot be opened, for example because all descriptors are in use.
std::optional<uint64_t> readable_bytes_at(const void* address);

}  // namespace gfxgraph::codeobj
