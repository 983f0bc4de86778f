// The part of HSA's binary interface that mode packets uses, in our own declarations: handles are
// uint64_t, enumerations are integers. The values are those of hsa.h, hsa_ext_amd.h,
// hsa_ven_amd_loader.h and amd_hsa_queue.h (tests/replayer/packets/hsa_abi_test.cpp compares them).
// No HSA header is included anywhere in replayer/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::hsa_abi {

using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kInfoBreak = 1;  // HSA_STATUS_INFO_BREAK
inline constexpr Status kErrorOutOfResources = 0x1008;

// hsa_agent_info_t, hsa_amd_agent_info_t.
inline constexpr uint32_t kAgentQueueMaxSize = 14;
inline constexpr uint32_t kAgentDevice = 17;
inline constexpr uint32_t kDeviceCpu = 0;
inline constexpr uint32_t kDeviceGpu = 1;
inline constexpr uint32_t kAgentBdfId = 0xA006;
inline constexpr uint32_t kAgentDomain = 0xA00F;
// hsa_amd_memory_pool_info_t.
inline constexpr uint32_t kPoolSegment = 0;
inline constexpr uint32_t kPoolGlobalFlags = 1;
inline constexpr uint32_t kPoolSize = 2;
inline constexpr uint32_t kSegmentGlobal = 0;
inline constexpr uint32_t kSegmentGroup = 3;
inline constexpr uint32_t kPoolFlagKernarg = 1;
inline constexpr uint32_t kPoolFlagFine = 2;
// hsa_executable_symbol_info_t.
inline constexpr uint32_t kSymbolKernargBytes = 11;
inline constexpr uint32_t kSymbolGroupBytes = 13;
inline constexpr uint32_t kSymbolPrivateBytes = 14;
inline constexpr uint32_t kSymbolDynamicCallStack = 15;
inline constexpr uint32_t kSymbolKernelObject = 22;

inline constexpr int kConditionLess = 2;  // HSA_SIGNAL_CONDITION_LT
inline constexpr int kWaitBlocked = 0;
inline constexpr uint32_t kQueueMulti = 0;

// Packet headers (hsa_packet_header_t): type, barrier bit, acquire and release scopes.
inline constexpr uint16_t kPacketInvalid = 1;
inline constexpr uint16_t kPacketDispatch = 2;
inline constexpr uint16_t kPacketBarrierAnd = 3;
inline constexpr uint16_t kBarrierBit = 1 << 8;
inline constexpr uint16_t kAcquireAgent = 1 << 9, kAcquireSystem = 2 << 9;
inline constexpr uint16_t kReleaseAgent = 1 << 11, kReleaseSystem = 2 << 11;

// hsa_queue_t.
struct Queue {
  uint32_t type;
  uint32_t features;
  void* base;
  uint64_t doorbell;
  uint32_t size;
  uint32_t reserved;
  uint64_t id;
};
static_assert(sizeof(Queue) == 40 && offsetof(Queue, size) == 24);
// amd_queue_t, which begins with it: the high halves of two apertures.
inline constexpr size_t kGroupApertureOffset = 64;
inline constexpr size_t kPrivateApertureOffset = 68;

// hsa_kernel_dispatch_packet_t. Barrier packets have the same header and completion signal.
struct Packet {
  uint16_t header = kPacketInvalid;
  uint16_t setup = 0;
  uint16_t block[3] = {};
  uint16_t reserved0 = 0;
  uint32_t grid[3] = {};  // work items
  uint32_t private_bytes = 0;
  uint32_t group_bytes = 0;
  uint64_t kernel_object = 0;
  uint64_t kernarg = 0;
  uint64_t reserved1 = 0;
  uint64_t completion = 0;
};
static_assert(sizeof(Packet) == 64 && offsetof(Packet, grid) == 12 &&
              offsetof(Packet, kernel_object) == 32 && offsetof(Packet, completion) == 56);

// hsa_ven_amd_loader_1_03_pfn_t.
struct LoaderTable {
  void* query_host_address = nullptr;
  void* query_segment_descriptors = nullptr;
  Status (*query_executable)(const void* address, uint64_t* executable) = nullptr;
  void* iterate_loaded_code_objects = nullptr;
  void* loaded_code_object_get_info = nullptr;
  void* create_from_file = nullptr;
  Status (*iterate_executables)(Status (*callback)(uint64_t executable, void* data),
                                void* data) = nullptr;
};
static_assert(sizeof(LoaderTable) == 56);
inline constexpr uint16_t kExtensionLoader = 0x201;

using QueueCallback = void (*)(Status status, Queue* queue, void* data);

}  // namespace gfxgraph::hsa_abi
