// What hooks need of types that the headers of HIP 5.2.3, with which gfxgraph is built, do not
// have. Source: hip/hip_runtime_api.h of HIP 7.2.4; those of graph nodes are the same in 6.4.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/newer_hip.h"
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

using gfxgraph::BatchBox;
using gfxgraph::BatchEnd;
using gfxgraph::BatchMemOp;
using gfxgraph::BatchNodeParams;
using gfxgraph::HipNarrowBox;
using gfxgraph::HipWideBox;
using gfxgraph::LaunchAttribute;
using gfxgraph::PeerBox;

using StubLaunchConfig = HipLaunchConfig<dim3, hipStream_t, size_t>;
static_assert(sizeof(StubLaunchConfig) == 56);
using FunctionLaunchConfig = HipLaunchConfig<dim3, hipStream_t, uint32_t>;
static_assert(sizeof(FunctionLaunchConfig) == 56 && offsetof(FunctionLaunchConfig, stream) == 32);

// hipFunctionLaunchParams; the same in HIP 5.7
struct FunctionLaunchParams {
  hipFunction_t function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  hipStream_t stream;
  void** params;
};
static_assert(sizeof(FunctionLaunchParams) == 56 && offsetof(FunctionLaunchParams, stream) == 40);

// hipGraphNodeType, which has other numbers in HIP 5.2.3.
enum class NodeType : int32_t {
  kKernel = 0,
  kMemcpy = 1,
  kMemset = 2,
  kHost = 3,
  kGraph = 4,
  kEmpty = 5,
  kWaitEvent = 6,
  kEventRecord = 7,
  kMemoryAlloc = 10,
  kMemoryFree = 11,
};

// hipMemAllocNodeParams; the same in HIP 5.7
struct MemoryNodeParams {
  char pool_properties[88];
  const hipMemAccessDesc* accesses;
  size_t access_count;
  size_t size_bytes;
  void* address;  // filled in by the call
};
static_assert(sizeof(MemoryNodeParams) == 120 && offsetof(MemoryNodeParams, address) == 112);

// hipGraphNodeParams
struct GraphNodeParams {
  NodeType type;
  int32_t reserved0[3];
  union {
    hipKernelNodeParams kernel;
    struct {
      int32_t flags[4];
      hipMemcpy3DParms params;
    } memcpy;
    hipMemsetParams memset;
    hipHostNodeParams host;
    hipGraph_t graph;
    hipEvent_t event;
    MemoryNodeParams memory;
    void* freed;
    int64_t reserved1[29];
  };
  int64_t reserved2;
};
static_assert(sizeof(GraphNodeParams) == 256 && offsetof(GraphNodeParams, kernel) == 16);

// HIP_MEMSET_NODE_PARAMS, which the driver interface's memset nodes have in HIP 6; in HIP 7 it is
// hipMemsetParams.
struct DriverMemsetParams {
  hipDeviceptr_t dst;
  size_t pitch;
  uint32_t value;
  uint32_t elementSize;
  size_t width;
  size_t height;
};
static_assert(sizeof(DriverMemsetParams) == 40);

// hipExecutionCtx_t (HIP 7.14)
using ExecutionContext = struct ihipExecutionCtx_t*;

// hipLibrary_t and hipKernel_t
using Library = struct ihipLibrary_t*;
using LibraryKernel = struct ihipKernel_t*;

inline bool is_cooperative(const LaunchAttribute* attributes, uint32_t count) {
  for (uint32_t i = 0; attributes != nullptr && i < count; ++i) {
    const std::optional<LaunchAttribute> one = read_given(attributes + i);
    if (!one) return false;
    if (one->id == LaunchAttribute::kCooperative && one->value.cooperative != 0) return true;
  }
  return false;
}

}  // namespace gfxgraph::recorder
