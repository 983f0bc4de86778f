#include "check/launch/launch_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "check/lanes/lane_observer.h"

namespace gfxgraph::check {
namespace {

constexpr uint32_t kDynamicStackBytes = 16384;
// Arguments are padded: the compiler widens loads of the last ones.
constexpr uint64_t kKernargPadBytes = 256;

}  // namespace

Result<LaunchFrame> LaunchFrame::create(const format::Trace& trace, DeviceMemory& memory) {
  LaunchFrame frame;
  frame.memory_ = &memory;
  GFXGRAPH_ASSIGN_OR_RETURN(
      frame.packet_,
      memory.add_own(kPacketBytes, emulator::RegionKind::kSystem, "the dispatch packet"));
  GFXGRAPH_ASSIGN_OR_RETURN(
      frame.queue_, memory.add_own(kQueueBytes, emulator::RegionKind::kSystem, "the queue"));
  write_queue(memory.own_bytes(frame.queue_).first(kQueueBytes));
  uint64_t kernarg_bytes = 0;
  for (const format::Kernel& kernel : trace.kernels()) {
    kernarg_bytes =
        std::max<uint64_t>({kernarg_bytes, kernel.kernarg_size_bytes, kernel.explicit_size_bytes});
    if (kernarg_bytes > kMaxKernargBytes) {
      return fail(Status::kCorrupt, fmt::format("kernel {}: a kernarg segment of {} bytes",
                                                kernel.name, kernarg_bytes));
    }
  }
  GFXGRAPH_ASSIGN_OR_RETURN(frame.kernarg_,
                            memory.add_own(kernarg_bytes + kKernargPadBytes,
                                           emulator::RegionKind::kKernarg, "the kernel arguments"));
  // What the runtime and the device read. A kernel that writes it is wrong, on any device.
  GFXGRAPH_TRY(memory.map().make_read_only(frame.packet_, kPacketBytes));
  GFXGRAPH_TRY(memory.map().make_read_only(frame.queue_, kQueueBytes));
  GFXGRAPH_TRY(memory.map().make_read_only(frame.kernarg_, kernarg_bytes + kKernargPadBytes));
  return frame;
}

Result<emulator::Dispatch> LaunchFrame::fill(uint64_t index, const format::Launch& launch,
                                             const format::Kernel& kernel, const LaunchShape& shape,
                                             const LoadedCode& code, const codeobj::Kernel& found,
                                             HostServices* services) {
  HiddenValues hidden;
  hidden.queue_address = queue_;
  hidden.dynamic_lds_bytes = launch.dynamic_lds_bytes;
  hidden.hostcall_address = kHostCallAddress;
  if (services != nullptr) GFXGRAPH_TRY(services->next_launch(kernel, launch.kernel, hidden));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> kernarg,
                            kernarg_segment(kernel, launch, hidden));
  const std::span<std::byte> kernarg_bytes = memory_->own_bytes(kernarg_);
  std::fill(kernarg_bytes.begin(), kernarg_bytes.end(), std::byte{0});
  std::copy(kernarg.begin(), kernarg.end(), kernarg_bytes.begin());

  emulator::Dispatch dispatch;
  dispatch.kernel_object = code.load_address + found.descriptor_address;
  dispatch.grid_size = shape.grid_items;
  dispatch.workgroup_size = shape.block;
  dispatch.group_segment_bytes = found.descriptor.group_segment_bytes + launch.dynamic_lds_bytes;
  dispatch.private_segment_bytes = found.descriptor.private_segment_bytes;
  // The stack of calls through pointers and of recursion is unknown: as much as a runtime grants.
  if (found.descriptor.dynamic_stack() || found.uses_dynamic_stack)
    dispatch.private_segment_bytes += kDynamicStackBytes;
  dispatch.kernarg_address = kernarg_;
  dispatch.packet_address = packet_;
  dispatch.queue_address = queue_;
  dispatch.dispatch_id = index;
  dispatch.cooperative = dispatch.set_grid_barrier = launch.cooperative;
  PacketValues packet;
  packet.kernel_object = dispatch.kernel_object;
  packet.kernarg_address = kernarg_;
  packet.group_segment_bytes = dispatch.group_segment_bytes;
  packet.private_segment_bytes = dispatch.private_segment_bytes;
  write_packet(memory_->own_bytes(packet_).first(kPacketBytes), shape, packet);
  return dispatch;
}

Result<LaunchCode> find_launch_code(const std::vector<LoadedCode>& loaded,
                                    const format::Kernel& kernel) {
  if (kernel.code_object == 0 || kernel.code_object > loaded.size()) {
    return fail(Status::kCorrupt, fmt::format("code object {} does not exist", kernel.code_object));
  }
  LaunchCode result;
  result.code = &loaded[kernel.code_object - 1];
  result.kernel = result.code->object->find_kernel(kernel.name);
  if (result.kernel == nullptr) {
    return fail(Status::kNotFound,
                fmt::format("code object {} has no kernel {}", kernel.code_object, kernel.name));
  }
  return result;
}

}  // namespace gfxgraph::check
