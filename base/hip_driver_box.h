// HIP_MEMCPY3D as both of its layouts: HIP 6 made its numbers wider. Source: hip/driver_types.h of
// HIP 5.2.3 and 6.4.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph {

template <typename Number>
struct HipDriverBox {
  Number srcXInBytes, srcY, srcZ, srcLOD;
  int32_t srcMemoryType;
  const void* srcHost;
  const void* srcDevice;
  const void* srcArray;
  Number srcPitch, srcHeight;
  Number dstXInBytes, dstY, dstZ, dstLOD;
  int32_t dstMemoryType;
  void* dstHost;
  void* dstDevice;
  void* dstArray;
  Number dstPitch, dstHeight;
  Number WidthInBytes, Height, Depth;
};
using HipNarrowBox = HipDriverBox<unsigned int>;
using HipWideBox = HipDriverBox<size_t>;  // from HIP 6 on
static_assert(sizeof(HipNarrowBox) == 128 && sizeof(HipWideBox) == 184);

}  // namespace gfxgraph
