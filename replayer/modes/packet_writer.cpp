#include "replayer/modes/packet_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "replayer/packets/packet_boxes.h"

namespace gfxgraph::replayer {
namespace {

using hsa_abi::Packet;

constexpr uint32_t kMostWorkItems = 1024;  // of a workgroup

uint64_t bits(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void begin(Packet& packet, const std::byte* kernarg) {
  packet.kernarg = bits(kernarg);
  packet.setup = 3;
}

void set_box(Packet& packet, const PacketKernel& kernel, const Box& box) {
  packet.block[0] = kBoxBlock;
  packet.block[1] = packet.block[2] = 1;
  packet.grid[0] = box.groups_x * kBoxBlock;
  packet.grid[1] = box.groups_y;
  packet.grid[2] = box.groups_z;
  packet.private_bytes = kernel.private_bytes;
  packet.group_bytes = kernel.group_bytes;
  packet.kernel_object = kernel.object;
}

}  // namespace

[[gnu::cold]] Result<void> PacketWriter::find_kernels(EligibleKernels&& eligible, uint32_t limit,
                                                      PacketDevice& device, PacketQueue& queue) {
  device_ = &device;
  queue_ = &queue;
  for (auto& [id, hidden] : eligible) kernels_[id].hidden = std::move(hidden);
  const Program& program = instance_.program();
  PacketCode& code = device.code();
  for (auto& [id, kernel] : kernels_) {
    const format::Kernel& recorded = program.trace().kernels()[id - 1];
    const auto found = code.find(program, instance_.session().modules(), recorded);
    if (!found) return with_context(found.error(), "mode packets: kernel " + recorded.name);
    kernel.code = *found;
    kernel.kernarg_bytes = std::max(found->kernarg_bytes, recorded.kernarg_size_bytes);
    if (found->dynamic_stack) {
      return fail(Status::kUnsupported,
                  fmt::format("mode packets: kernel {}: its stack is dynamic (recursion or calls "
                              "by pointer): only HIP knows how large it is",
                              recorded.name));
    }
  }
  bool copies = false, fills = false;
  for (uint32_t i = 0; i < limit; ++i) {
    const PreparedOperation& operation = instance_.operation(i);
    copies = copies || operation.kind == OperationKind::kCopy || operation.turns;
    fills = fills || operation.kind == OperationKind::kMemset || operation.turns;
  }
  const std::string& architecture = instance_.device().arch;
  if (copies) {
    GFXGRAPH_ASSIGN_OR_RETURN(copy_kernel_, code.own(architecture, "gfxgraph_copy"));
  }
  if (fills) {
    GFXGRAPH_ASSIGN_OR_RETURN(fill_kernel_, code.own(architecture, "gfxgraph_fill"));
  }
  return {};
}

uint64_t PacketWriter::kernarg_bytes(const PreparedLaunch& launch) const {
  return std::max(kernels_.find(launch.kernel)->second.kernarg_bytes, launch.kernarg_bytes);
}

bool PacketWriter::is_plain(const PreparedLaunch& launch) const {
  return std::ranges::none_of(
      kernels_.find(launch.kernel)->second.hidden,
      [&](const HiddenField& field) { return field.offset_bytes < launch.kernarg_bytes; });
}

Result<void> PacketWriter::launch(Packet& packet, std::byte* kernarg, uint32_t index,
                                  const PreparedLaunch& launch) {
  begin(packet, kernarg);
  const Kernel& kernel = kernels_.find(launch.kernel)->second;
  const std::array<uint32_t, 3> block = {launch.block.x, launch.block.y, launch.block.z};
  std::array<uint64_t, 3> items = {uint64_t{launch.grid.x} * block[0],
                                   uint64_t{launch.grid.y} * block[1],
                                   uint64_t{launch.grid.z} * block[2]};
  if (const SpecialLaunch* const special = instance_.special(launch);
      special != nullptr && special->partial)
    items = {special->work_items.x, special->work_items.y, special->work_items.z};
  const uint64_t group_bytes = uint64_t{kernel.code.group_bytes} + launch.lds_bytes;
  HiddenFacts facts;
  uint64_t in_block = 1;
  for (size_t i = 0; i < 3; ++i) {
    in_block *= block[i];
    if (items[i] == 0 || items[i] > UINT32_MAX || in_block == 0 || in_block > kMostWorkItems) {
      return fail(Status::kUnsupported,
                  fmt::format("mode packets: {}: {} x {} x {} work items in workgroups of {} x "
                              "{} x {} are not possible",
                              instance_.program().describe(index), items[0], items[1], items[2],
                              block[0], block[1], block[2]));
    }
    facts.work_items[i] = static_cast<uint32_t>(items[i]);
  }
  if (group_bytes > device_->group_bytes()) {
    return fail(
        Status::kUnsupported,
        fmt::format("mode packets: {}: {} bytes of LDS, the device has {}",
                    instance_.program().describe(index), group_bytes, device_->group_bytes()));
  }
  facts.block = block;
  facts.dynamic_lds_bytes = launch.lds_bytes;
  facts.queue = queue_->address();
  facts.private_base = queue_->private_aperture();
  facts.shared_base = queue_->group_aperture();
  for (size_t i = 0; i < 3; ++i) {
    packet.block[i] = static_cast<uint16_t>(block[i]);
    packet.grid[i] = facts.work_items[i];
  }
  packet.private_bytes = kernel.code.private_bytes;
  packet.group_bytes = static_cast<uint32_t>(group_bytes);
  packet.kernel_object = kernel.code.object;
  std::memcpy(kernarg, launch.kernarg, launch.kernarg_bytes);
  write_hidden(kernel.hidden, facts, kernarg);
  return {};
}

// The address that kernels use for memory that HIP's copies address by its host pointer.
Result<uint64_t> PacketWriter::device_address(const void* pointer, uint32_t index) const {
  void* device = nullptr;
  const hip::Error code =
      instance_.hip().hipHostGetDevicePointer(&device, const_cast<void*>(pointer), 0);
  if (code == hip::kSuccess && device != nullptr) return bits(device);
  instance_.hip().hipGetLastError();
  return fail(
      Status::kUnsupported,
      fmt::format(
          "mode packets: {}: its end outside the buffers is memory that HIP does not know, so "
          "kernels cannot access it: use pinned memory, or read the output from the step",
          instance_.program().describe(index)));
}

Result<bool> PacketWriter::copy(Packet& packet, std::byte* kernarg, uint32_t index,
                                const PreparedCopy& copy) {
  begin(packet, kernarg);
  Result<uint64_t> to = device_address(copy.destination, index);
  const bool given =
      copy.staged != nullptr && copy.destination != copy.staged && copy.source != copy.staged;
  // The caller's pageable memory: by way of the step's own.
  const bool forwards = !to && given;
  if (forwards) to = device_address(copy.staged, index);
  if (!to) return tl::unexpected<Error>(to.error());
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t from, device_address(copy.source, index));
  uint64_t distances = *to | from;
  if (copy.height > 1) distances |= copy.source_pitch;
  if (copy.depth > 1) distances |= copy.source_slice;
  const Box box = box_of(copy.width, copy.height, copy.depth, copy.destination_pitch,
                         copy.destination_slice, distances);
  const CopyArguments arguments{reinterpret_cast<const void*>(*to),
                                reinterpret_cast<const void*>(from), copy.source_pitch,
                                copy.source_slice, box};
  std::memcpy(kernarg, &arguments, sizeof(arguments));
  set_box(packet, copy_kernel_, box);
  return forwards;
}

void PacketWriter::fill(Packet& packet, std::byte* kernarg, const PreparedMemset& memset) {
  begin(packet, kernarg);
  uint32_t pattern = memset.value;
  if (memset.element_bytes == 1) pattern = (pattern & 0xff) * 0x01010101u;
  if (memset.element_bytes == 2) pattern = (pattern & 0xffff) * 0x00010001u;
  const Box box = box_of(memset.width * memset.element_bytes, memset.height, memset.depth,
                         memset.pitch, memset.slice, bits(memset.destination));
  const FillArguments arguments{memset.destination, pattern, box};
  std::memcpy(kernarg, &arguments, sizeof(arguments));
  set_box(packet, fill_kernel_, box);
}

}  // namespace gfxgraph::replayer
