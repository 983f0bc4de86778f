// What the layer needs of types that the headers of HIP 5.2.3, with which gfxgraph is built, do not
// have. Source: hip/hip_runtime_api.h of HIP 7.2.4; the same in 6.4.3 where that has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/newer_hip.h"
#include "capture/hooks_internal.h"

// A name of its own for the compiler, HIP's name for the linker.
#define GFXGRAPH_NEWER_CAPTURE_HOOK(name, ...)                               \
  GFXGRAPH_CAPTURE_HOOK hipError_t newer_##name(__VA_ARGS__) __asm__(#name); \
  hipError_t newer_##name(__VA_ARGS__)

namespace gfxgraph::capture {

using gfxgraph::BatchBox;
using gfxgraph::BatchMemOp;
using gfxgraph::HipNarrowBox;
using gfxgraph::HipWideBox;
using gfxgraph::LaunchAttribute;
using gfxgraph::PeerBox;

// hipLaunchAttributeValue, as hipGraphKernelNodeSetAttribute takes it
union NodeAttribute {
  static constexpr int kCooperative = 2;

  int32_t cooperative;
  char bytes[64];
};

using LaunchConfig = HipLaunchConfig<dim3, hipStream_t, size_t>;
static_assert(sizeof(LaunchConfig) == 56);
using FunctionConfig = HipLaunchConfig<dim3, hipStream_t, uint32_t>;
static_assert(sizeof(FunctionConfig) == 56 && offsetof(FunctionConfig, stream) == 32);

inline bool is_cooperative(const LaunchAttribute* attributes, uint32_t count) {
  for (uint32_t i = 0; attributes != nullptr && i < count; ++i) {
    if (attributes[i].id == LaunchAttribute::kCooperative && attributes[i].value.cooperative != 0)
      return true;
  }
  return false;
}

// hipMemAllocNodeParams and the hipMemPoolProps in it
struct AllocNodeParams {
  static constexpr int32_t kPinned = 1;          // hipMemAllocationTypePinned
  static constexpr int32_t kLocationDevice = 1;  // hipMemLocationTypeDevice

  int32_t allocation_type;
  int32_t handle_types;
  int32_t location_type;
  int32_t location_id;
  void* security_attributes;
  char reserved[64];
  const hipMemAccessDesc* accesses;
  size_t access_count;
  size_t size_bytes;
  void* address;  // filled in by the call
};
static_assert(sizeof(AllocNodeParams) == 120 && offsetof(AllocNodeParams, address) == 112);

}  // namespace gfxgraph::capture
