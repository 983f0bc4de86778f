// The bytes of a copy or memset in memory: rows of a pitched box, in planes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "format/trace.h"

namespace gfxgraph::format {

struct Box {
  uint64_t width_bytes = 0;  // of a row
  uint64_t height = 1;       // rows of a plane
  uint64_t depth = 1;        // planes
  uint64_t pitch_bytes = 0;  // from row to row; 0: no gap
  uint64_t slice_bytes = 0;  // from plane to plane; 0: no gap

  bool empty() const { return width_bytes == 0 || height == 0 || depth == 0; }
  uint64_t pitch() const { return pitch_bytes != 0 ? pitch_bytes : width_bytes; }
  // The following up to linear() only of a box that has an extent().
  uint64_t slice() const { return slice_bytes != 0 ? slice_bytes : pitch() * height; }
  uint64_t row_offset(uint64_t row, uint64_t plane) const {
    return plane * slice() + row * pitch();
  }
  uint64_t packed_bytes() const { return width_bytes * height * depth; }
  // Calls visit(offset of the row's first byte) for each row, plane by plane.
  template <typename Visit>
  void for_rows(const Visit& visit) const {
    if (empty()) return;
    for (uint64_t plane = 0; plane < depth; ++plane)
      for (uint64_t row = 0; row < height; ++row) visit(row_offset(row, plane));
  }
  // All rows follow each other without gaps.
  bool linear() const {
    return (height == 1 || pitch() == width_bytes) &&
           (depth == 1 || slice() == width_bytes * height);
  }
  // Rows that share bytes with others are no region that HIP accepts.
  bool rows_are_apart() const {
    if (height > 1 && pitch() < width_bytes) return false;
    if (depth <= 1) return true;
    const std::optional<uint64_t> plane = checked_mul(pitch(), height);
    if (!plane) return false;
    const uint64_t distance = slice_bytes != 0 ? slice_bytes : *plane;
    return distance >= *plane && distance >= width_bytes;
  }
  // Bytes from the first to the last one; nothing if that does not fit into 64 bits.
  std::optional<uint64_t> extent() const {
    if (empty()) return 0;
    const std::optional<uint64_t> rows = checked_mul(pitch(), height - 1);
    const std::optional<uint64_t> plane = rows ? checked_add(*rows, width_bytes) : std::nullopt;
    if (!plane || depth == 1) return plane;
    const std::optional<uint64_t> packed = checked_mul(pitch(), height);
    if (!packed) return std::nullopt;
    const std::optional<uint64_t> planes =
        checked_mul(slice_bytes != 0 ? slice_bytes : *packed, depth - 1);
    return planes ? checked_add(*planes, *plane) : std::nullopt;
  }
};

// What a copy touches at one of its ends.
inline Box box_of(const Copy& copy, const CopyEnd& end) {
  return {copy.width_bytes, copy.height, copy.depth, end.pitch_bytes, end.slice_bytes};
}
// Nothing if its width does not fit into 64 bits, which no checked trace has.
inline std::optional<Box> box_of(const Memset& memset) {
  const std::optional<uint64_t> width =
      checked_mul<uint64_t>(memset.width_elements, memset.element_bytes);
  if (!width) return std::nullopt;
  return Box{*width, memset.height, memset.depth, memset.pitch_bytes, memset.slice_bytes};
}

}  // namespace gfxgraph::format
