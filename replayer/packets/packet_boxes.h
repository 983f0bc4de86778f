// The arguments of the library's own kernels for copies and fills (scripts/make-own-code), for
// boxes of bytes.
#pragma once

#include <cstdint>

namespace gfxgraph::replayer {

struct Box {
  uint64_t width, height, depth, pitch, slice;
  uint32_t unit, groups_x, groups_y, groups_z;
};
// Of gfxgraph_copy.
struct CopyArguments {
  const void* to;
  const void* from;
  uint64_t from_pitch, from_slice;
  Box box;
};
// Of gfxgraph_fill.
struct FillArguments {
  const void* to;
  uint64_t pattern;
  Box box;
};
static_assert(sizeof(CopyArguments) == 88 && sizeof(FillArguments) == 72);

constexpr uint32_t kBoxBlock = 64;  // work items of a workgroup

// Bytes, rows, slices. `distances`: addresses and pitches, or-ed, that bound the unit that a work
// item moves, beside those of the box.
Box box_of(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice,
           uint64_t distances);

}  // namespace gfxgraph::replayer
