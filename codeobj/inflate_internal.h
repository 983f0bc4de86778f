// Decompression with an output that grows with the data, so that a declared size alone costs
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
  uint64_t consumed_bytes = 0;  // of the input: where the frame ends
};

// One zlib stream or zstd frame at the start of `input`, of exactly `size_bytes` plain bytes.
Result<Inflated> inflate_frame(std::span<const std::byte> input, Compression method,
                               uint64_t size_bytes);

}  // namespace gfxgraph::codeobj::internal
