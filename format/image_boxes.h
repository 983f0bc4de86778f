// Places in arrays: linear order, and boxes of texels, which HIP's copies take.
#pragma once

#include <cstdint>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::format {

// A box of texels of an array.
struct ArrayBox {
  uint64_t x = 0, y = 0, z = 0;               // texels, rows, slices
  uint64_t width = 0, height = 1, depth = 1;  // likewise
  uint64_t linear_bytes = 0;                  // where it begins, in linear order
  uint64_t size_bytes = 0;
};

// Bytes [offset, offset + size) of the array in linear order, as few boxes. Both must be whole
// texels inside of it.
std::vector<ArrayBox> array_boxes(const ArrayShape& array, uint64_t offset, uint64_t size);
// Where a copy's end lies: its offset as texel, row and slice.
ArrayBox array_place(const ArrayShape& array, uint64_t offset);

}  // namespace gfxgraph::format
