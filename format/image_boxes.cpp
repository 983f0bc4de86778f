#include "format/image_boxes.h"

#include <algorithm>

namespace gfxgraph::format {

bool TexelFormat::valid() const noexcept {
  if (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) return false;
  if (kind == TexelKind::kFloat && bits[0] == 8) return false;
  const bool two = bits[1] != 0;
  const bool four = bits[2] != 0;
  return bits[1] == (two ? bits[0] : 0) && bits[2] == (four ? bits[0] : 0) && bits[3] == bits[2] &&
         (two || !four);
}

ArrayBox array_place(const ArrayShape& array, uint64_t offset) {
  ArrayBox box;
  box.linear_bytes = offset;
  box.z = offset / array.slice_bytes();
  box.y = offset % array.slice_bytes() / array.row_bytes();
  box.x = offset % array.row_bytes() / array.format.bytes();
  return box;
}

std::vector<ArrayBox> array_boxes(const ArrayShape& array, uint64_t offset, uint64_t size) {
  std::vector<ArrayBox> boxes;
  const uint64_t row = array.row_bytes();
  const uint64_t slice = array.slice_bytes();
  while (size != 0) {
    ArrayBox box = array_place(array, offset);
    if (box.x == 0 && box.y == 0 && size >= slice) {
      box.width = array.width;
      box.height = array.rows();
      box.depth = size / slice;
      box.size_bytes = box.depth * slice;
    } else if (box.x == 0 && size >= row) {
      box.width = array.width;
      box.height = std::min(size / row, array.rows() - box.y);
      box.size_bytes = box.height * row;
    } else {
      box.width = std::min<uint64_t>(size / array.format.bytes(), array.width - box.x);
      box.size_bytes = box.width * array.format.bytes();
      if (box.size_bytes == 0) break;  // not whole texels
    }
    offset += box.size_bytes;
    size -= box.size_bytes;
    boxes.push_back(box);
  }
  return boxes;
}

}  // namespace gfxgraph::format
