// Types that the headers of HIP 5.2.3, with which gfxgraph is built, do not have, or have otherwise
// than newer ones, for the hooks of recorder and layer. Source: hip/driver_types.h and
// hip/hip_runtime_api.h of HIP 5.2.3, 6.4.3 and 7.2.4.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph {

// HIP_MEMCPY3D in both layouts: HIP 6 made its numbers wider.
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

// hipPos, hipPitchedPtr and hipExtent
struct BoxPlace {
  size_t x, y, z;
};
struct BoxMemory {
  void* memory;
  size_t pitch_bytes, row_bytes, rows;
};
struct BoxExtent {
  size_t width, height, depth;
};

// hipMemcpy3DPeerParms
struct PeerBox {
  void* source_array;
  BoxPlace source_at;
  BoxMemory source;
  int32_t source_device;
  void* destination_array;
  BoxPlace destination_at;
  BoxMemory destination;
  int32_t destination_device;
  BoxExtent extent;
};
static_assert(sizeof(PeerBox) == 168 && offsetof(PeerBox, extent) == 144);

// hipMemcpy3DOperand and hipMemcpy3DBatchOp
struct BatchEnd {
  static constexpr uint32_t kPointer = 1;

  uint32_t type;
  void* address;        // of an array otherwise
  size_t row_bytes;     // 0: as wide as the box
  size_t layer_rows;    // 0: as high as the box
  uint64_t hint_or_at;  // where it lies; of an array, the last coordinate
};
struct BatchBox {
  BatchEnd source;
  BatchEnd destination;
  BoxExtent extent;
  uint32_t source_order;
  uint32_t flags;
};
static_assert(sizeof(BatchBox) == 112 && offsetof(BatchBox, extent) == 80);

// hipStreamBatchMemOpParams
struct BatchMemOp {
  static constexpr uint32_t kWait32 = 1, kWrite32 = 2, kWait64 = 4, kWrite64 = 5;

  uint32_t operation;
  void* address;
  uint64_t value;  // of 32 bits: the lower ones
  uint32_t flags;
  void* alias;
  uint64_t reserved;
};
static_assert(sizeof(BatchMemOp) == 48 && offsetof(BatchMemOp, flags) == 24);

// hipBatchMemOpNodeParams
struct BatchNodeParams {
  void* context;
  uint32_t count;
  const BatchMemOp* operations;
  uint32_t flags;
};
static_assert(sizeof(BatchNodeParams) == 32 && offsetof(BatchNodeParams, operations) == 16);

// hipLaunchAttribute
struct LaunchAttribute {
  static constexpr uint32_t kCooperative = 2;

  uint32_t id;
  uint32_t padding;
  union {
    int32_t cooperative;  // not 0: the workgroups are on the device together
    char bytes[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

// hipLaunchConfig_t (Number: size_t) and HIP_LAUNCH_CONFIG (uint32_t), with HIP's dim3 and
// hipStream_t.
template <typename Sizes, typename Stream, typename Number>
struct HipLaunchConfig {
  Sizes grid;
  Sizes block;
  Number shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  uint32_t attribute_count;
};

}  // namespace gfxgraph
