// Converts ranges of an array in linear order to boxes of texels, as HIP's copy calls take them.
#pragma once

#include <cstdint>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::format {

// A box of texels of an array.
struct ArrayBox {
  uint64_t x = 0, y = 0, z = 0;               // texels, rows, slices
  uint64_t width = 0, height = 1, depth = 1;  // in the same units
  uint64_t linear_bytes = 0;                  // its first byte, in linear order
  uint64_t size_bytes = 0;
};

// The fewest boxes that cover the bytes [offset, offset + size) in linear order. The range must
// consist of whole texels within the array.
std::vector<ArrayBox> array_boxes(const ArrayShape& array, uint64_t offset, uint64_t size);
// The texel, row and slice at `offset`, where a copy begins.
ArrayBox array_place(const ArrayShape& array, uint64_t offset);

}  // namespace gfxgraph::format
