// Decompression into a buffer that grows with the data, so a large declared size alone allocates
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace gfxgraph::codeobj::internal {

enum class Compression { kZlib, kZstd };

struct Inflated {
  std::vector<std::byte> bytes;
  uint64_t consumed_bytes = 0;  // where the frame ends in the input
};

// Decompresses one zlib stream or zstd frame at the start of `input` to exactly `size_bytes` bytes.
Result<Inflated> inflate_frame(std::span<const std::byte> input, Compression method,
                               uint64_t size_bytes);

}  // namespace gfxgraph::codeobj::internal
