// Fills the kernarg segment and dispatch packet of a recorded launch as the HIP runtime does.
// Source: LLVM AMDGPUUsage, "Code Object V5 Metadata", hidden arguments; HSA Runtime 2.9, "AQL
// packets".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::check {

struct LaunchShape {
  std::array<uint32_t, 3> grid_items = {1, 1, 1};
  std::array<uint16_t, 3> block = {1, 1, 1};
};
// kInvalidArgument if the grid has more work items than an AQL packet can hold.
Result<LaunchShape> launch_shape(const format::Launch& launch);

inline constexpr uint64_t kMaxKernargBytes = 1 << 20;

struct HiddenValues {
  uint64_t queue_address = 0;
  uint64_t hostcall_address = 0;
  uint64_t printf_address = 0;
  uint64_t heap_address = 0;
  uint32_t dynamic_lds_bytes = 0;
};

// The bytes of the explicit and hidden arguments. kUnsupported for hidden arguments that the check
// cannot provide and a kernel might dereference (multi-grid sync, device-side enqueue).
Result<std::vector<std::byte>> kernarg_segment(const format::Kernel& kernel,
                                               const format::Launch& launch,
                                               const HiddenValues& values);

inline constexpr uint64_t kPacketBytes = 64;
struct PacketValues {
  uint64_t kernel_object = 0;
  uint64_t kernarg_address = 0;
  uint32_t group_segment_bytes = 0;
  uint32_t private_segment_bytes = 0;
};
// Writes an hsa_kernel_dispatch_packet_t. `packet` must have kPacketBytes.
void write_packet(std::span<std::byte> packet, const LaunchShape& shape,
                  const PacketValues& values);

// Writes the fields of an amd_queue_t that kernels read: the apertures. `queue` must have
// kQueueBytes.
inline constexpr uint64_t kQueueBytes = 256;
void write_queue(std::span<std::byte> queue);

}  // namespace gfxgraph::check
