#include "replayer/packets/packet_boxes.h"

#include <algorithm>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kMostGroups = 32768;  // of a box in one direction; lanes go on from there

// The largest unit that all distances are multiples of.
uint32_t unit_of(uint64_t distances) {
  if (distances % 16 == 0) return 16;
  return distances % 4 == 0 ? 4 : 1;
}

}  // namespace

Box box_of(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice,
           uint64_t distances) {
  Box box{width, height, depth, pitch, slice, 1, 1, 1, 1};
  distances |= width;
  if (height > 1) distances |= pitch;
  if (depth > 1) distances |= slice;
  box.unit = unit_of(distances);
  const uint64_t bytes_of_group = uint64_t{kBoxBlock} * box.unit;
  const auto groups = [](uint64_t count) {
    return static_cast<uint32_t>(std::clamp<uint64_t>(count, 1, kMostGroups));
  };
  box.groups_x = groups(width / bytes_of_group + (width % bytes_of_group != 0));
  box.groups_y = groups(height);
  box.groups_z = groups(depth);
  return box;
}

}  // namespace gfxgraph::replayer
