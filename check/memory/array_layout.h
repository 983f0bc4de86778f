// Where the texels of an array are in the emulator's memory: rows with the pitch of its images. A
// trace, and HIP's copies, have them without gaps: linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::check {

struct ArrayLayout {
  uint64_t row_bytes = 0;  // of texels
  uint64_t rows = 1;       // of a slice
  uint64_t slices = 1;
  uint64_t pitch_bytes = 0;

  // kOutOfMemory: too large for any memory.
  static Result<ArrayLayout> of(const format::ArrayShape& shape);

  uint64_t slice_bytes() const { return pitch_bytes * rows; }
  uint64_t bytes() const { return slice_bytes() * slices; }
  uint64_t linear_bytes() const { return row_bytes * rows * slices; }
  // Of the byte that stands at this offset of the linear texels.
  uint64_t offset(uint64_t linear) const {
    return linear / row_bytes * pitch_bytes + linear % row_bytes;
  }
  // The first bytes of the linear texels, from memory of bytes().
  void pack(std::span<const std::byte> memory, std::span<std::byte> linear) const;
};

}  // namespace gfxgraph::check
