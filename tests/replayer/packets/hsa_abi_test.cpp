// Our own declarations of HSA's binary interface against AMD's headers.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstring>

#include "replayer/abi/hsa_abi.h"

namespace gfxgraph::hsa_abi {
namespace {

#define GFXGRAPH_SAME(ours, theirs) \
  static_assert(static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs))
GFXGRAPH_SAME(kSuccess, HSA_STATUS_SUCCESS);
GFXGRAPH_SAME(kInfoBreak, HSA_STATUS_INFO_BREAK);
GFXGRAPH_SAME(kErrorOutOfResources, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
GFXGRAPH_SAME(kAgentQueueMaxSize, HSA_AGENT_INFO_QUEUE_MAX_SIZE);
GFXGRAPH_SAME(kAgentDevice, HSA_AGENT_INFO_DEVICE);
GFXGRAPH_SAME(kDeviceCpu, HSA_DEVICE_TYPE_CPU);
GFXGRAPH_SAME(kDeviceGpu, HSA_DEVICE_TYPE_GPU);
GFXGRAPH_SAME(kAgentBdfId, HSA_AMD_AGENT_INFO_BDFID);
GFXGRAPH_SAME(kAgentDomain, HSA_AMD_AGENT_INFO_DOMAIN);
GFXGRAPH_SAME(kPoolSegment, HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
GFXGRAPH_SAME(kPoolGlobalFlags, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
GFXGRAPH_SAME(kPoolSize, HSA_AMD_MEMORY_POOL_INFO_SIZE);
GFXGRAPH_SAME(kSegmentGlobal, HSA_AMD_SEGMENT_GLOBAL);
GFXGRAPH_SAME(kSegmentGroup, HSA_AMD_SEGMENT_GROUP);
GFXGRAPH_SAME(kPoolFlagKernarg, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
GFXGRAPH_SAME(kPoolFlagFine, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
GFXGRAPH_SAME(kSymbolKernargBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
GFXGRAPH_SAME(kSymbolGroupBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
GFXGRAPH_SAME(kSymbolPrivateBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
GFXGRAPH_SAME(kSymbolDynamicCallStack, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK);
GFXGRAPH_SAME(kSymbolKernelObject, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
GFXGRAPH_SAME(kConditionLess, HSA_SIGNAL_CONDITION_LT);
GFXGRAPH_SAME(kWaitBlocked, HSA_WAIT_STATE_BLOCKED);
GFXGRAPH_SAME(kQueueMulti, HSA_QUEUE_TYPE_MULTI);
GFXGRAPH_SAME(kExtensionLoader, HSA_EXTENSION_AMD_LOADER);
GFXGRAPH_SAME(kPacketInvalid, HSA_PACKET_TYPE_INVALID);
GFXGRAPH_SAME(kPacketDispatch, HSA_PACKET_TYPE_KERNEL_DISPATCH);
GFXGRAPH_SAME(kPacketBarrierAnd, HSA_PACKET_TYPE_BARRIER_AND);
GFXGRAPH_SAME(kBarrierBit, 1 << HSA_PACKET_HEADER_BARRIER);
GFXGRAPH_SAME(kAcquireAgent, HSA_FENCE_SCOPE_AGENT << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE);
GFXGRAPH_SAME(kAcquireSystem, HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE);
GFXGRAPH_SAME(kReleaseAgent, HSA_FENCE_SCOPE_AGENT << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
GFXGRAPH_SAME(kReleaseSystem, HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
GFXGRAPH_SAME(sizeof(Queue), sizeof(hsa_queue_t));
GFXGRAPH_SAME(offsetof(Queue, base), offsetof(hsa_queue_t, base_address));
GFXGRAPH_SAME(offsetof(Queue, doorbell), offsetof(hsa_queue_t, doorbell_signal));
GFXGRAPH_SAME(offsetof(Queue, size), offsetof(hsa_queue_t, size));
GFXGRAPH_SAME(kGroupApertureOffset, offsetof(amd_queue_t, group_segment_aperture_base_hi));
GFXGRAPH_SAME(kPrivateApertureOffset, offsetof(amd_queue_t, private_segment_aperture_base_hi));
GFXGRAPH_SAME(sizeof(Packet), sizeof(hsa_kernel_dispatch_packet_t));
GFXGRAPH_SAME(offsetof(Packet, block), offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x));
GFXGRAPH_SAME(offsetof(Packet, grid), offsetof(hsa_kernel_dispatch_packet_t, grid_size_x));
GFXGRAPH_SAME(offsetof(Packet, private_bytes),
              offsetof(hsa_kernel_dispatch_packet_t, private_segment_size));
GFXGRAPH_SAME(offsetof(Packet, group_bytes),
              offsetof(hsa_kernel_dispatch_packet_t, group_segment_size));
GFXGRAPH_SAME(offsetof(Packet, kernel_object),
              offsetof(hsa_kernel_dispatch_packet_t, kernel_object));
GFXGRAPH_SAME(offsetof(Packet, kernarg), offsetof(hsa_kernel_dispatch_packet_t, kernarg_address));
GFXGRAPH_SAME(offsetof(Packet, completion),
              offsetof(hsa_kernel_dispatch_packet_t, completion_signal));
GFXGRAPH_SAME(offsetof(Packet, completion), offsetof(hsa_barrier_and_packet_t, completion_signal));
GFXGRAPH_SAME(sizeof(LoaderTable), sizeof(hsa_ven_amd_loader_1_03_pfn_t));
GFXGRAPH_SAME(offsetof(LoaderTable, query_executable),
              offsetof(hsa_ven_amd_loader_1_03_pfn_t, hsa_ven_amd_loader_query_executable));
GFXGRAPH_SAME(offsetof(LoaderTable, iterate_executables),
              offsetof(hsa_ven_amd_loader_1_03_pfn_t, hsa_ven_amd_loader_iterate_executables));
#undef GFXGRAPH_SAME

// Handles are passed by value as one 64-bit number.
TEST(HsaAbi, HandlesAreNumbers) {
  static_assert(sizeof(hsa_agent_t) == 8 && sizeof(hsa_signal_t) == 8 &&
                sizeof(hsa_executable_t) == 8 && sizeof(hsa_amd_memory_pool_t) == 8);
  const hsa_signal_t signal{0x123456789abcdefull};
  uint64_t number = 0;
  std::memcpy(&number, &signal, sizeof(number));
  EXPECT_EQ(number, 0x123456789abcdefull);
}

}  // namespace
}  // namespace gfxgraph::hsa_abi
