#include "check/memory/array_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "emulator/isa/memory/image.h"

namespace gfxgraph::check {

Result<ArrayLayout> ArrayLayout::of(const format::ArrayShape& shape) {
  ArrayLayout layout;
  layout.row_bytes = shape.row_bytes();
  layout.rows = shape.rows();
  layout.slices = shape.slices();
  const auto pitch = checked_align_up(layout.row_bytes, uint64_t{emulator::Image::kAlignment});
  const auto slice = pitch ? checked_mul(*pitch, layout.rows) : std::nullopt;
  if (layout.row_bytes == 0 || !slice || !checked_mul(*slice, layout.slices)) {
    return fail(Status::kOutOfMemory, fmt::format("an array of {} x {} x {} texels", shape.width,
                                                  shape.height, shape.depth));
  }
  layout.pitch_bytes = *pitch;
  return layout;
}

void ArrayLayout::pack(std::span<const std::byte> memory, std::span<std::byte> linear) const {
  GFXGRAPH_CHECK(memory.size() >= bytes() && linear.size() <= linear_bytes());
  for (size_t at = 0, from = 0; at < linear.size(); at += row_bytes, from += pitch_bytes)
    std::memcpy(linear.data() + at, memory.data() + from,
                std::min<size_t>(row_bytes, linear.size() - at));
}

}  // namespace gfxgraph::check
