#include "check/launch/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "emulator/engine/engine.h"

namespace gfxgraph::check {
namespace {

template <typename T>
void put(std::span<std::byte> bytes, uint64_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Which axis a name like "hidden_remainder_y" ends in.
std::optional<size_t> axis_of(std::string_view kind, std::string_view prefix) {
  if (kind.size() != prefix.size() + 1 || !kind.starts_with(prefix)) return std::nullopt;
  const char last = kind.back();
  if (last < 'x' || last > 'z') return std::nullopt;
  return static_cast<size_t>(last - 'x');
}

// Nothing: the check cannot provide this argument.
std::optional<uint64_t> hidden_value(std::string_view kind, const format::Launch& launch,
                                     const HiddenValues& values) {
  if (const auto axis = axis_of(kind, "hidden_block_count_")) {
    return launch.grid[*axis] - (launch.grid_remainder[*axis] != 0 ? 1 : 0);
  }
  if (const auto axis = axis_of(kind, "hidden_group_size_")) return launch.block[*axis];
  if (const auto axis = axis_of(kind, "hidden_remainder_")) return launch.grid_remainder[*axis];
  if (axis_of(kind, "hidden_global_offset_")) return 0;
  if (kind == "hidden_grid_dims") return 3;
  if (kind == "hidden_none") return 0;
  if (kind == "hidden_hostcall_buffer") return values.hostcall_address;
  if (kind == "hidden_printf_buffer") return values.printf_address;
  if (kind == "hidden_heap_v1") return values.heap_address;
  if (kind == "hidden_queue_ptr") return values.queue_address;
  if (kind == "hidden_dynamic_lds_size") return values.dynamic_lds_bytes;
  if (kind == "hidden_shared_base") return emulator::Dispatch::kDefaultGroupApertureHi;
  if (kind == "hidden_private_base") return emulator::Dispatch::kDefaultPrivateApertureHi;
  // Of OpenCL's device-side enqueue; HIP kernels list them and never follow them.
  if (kind == "hidden_default_queue" || kind == "hidden_completion_action") return 0;
  // V4 lists it for every kernel that might synchronise grids. 0: there is no such grid; 1: it is
  // the launch's own.
  if (kind == "hidden_multigrid_sync_arg") return launch.cooperative ? 1 : 0;
  return std::nullopt;
}

}  // namespace

Result<LaunchShape> launch_shape(const format::Launch& launch) {
  LaunchShape shape;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t block = launch.block[axis];
    uint64_t items = uint64_t{launch.grid[axis]} * block;
    if (launch.grid_remainder[axis] != 0) items -= block - launch.grid_remainder[axis];
    if (block == 0 || block > 1024 || items == 0 || items > UINT32_MAX) {
      return fail(Status::kInvalidArgument,
                  fmt::format("a grid of {} workgroups of {} work items cannot be dispatched",
                              launch.grid[axis], block));
    }
    shape.grid_items[axis] = static_cast<uint32_t>(items);
    shape.block[axis] = static_cast<uint16_t>(block);
  }
  return shape;
}

Result<std::vector<std::byte>> kernarg_segment(const format::Kernel& kernel,
                                               const format::Launch& launch,
                                               const HiddenValues& values) {
  const uint64_t size = std::max<uint64_t>(kernel.kernarg_size_bytes, launch.kernarg.size());
  if (size > kMaxKernargBytes) {
    return fail(Status::kCorrupt, fmt::format("a kernarg segment of {} bytes", size));
  }
  std::vector<std::byte> segment(size);
  if (!launch.kernarg.empty()) {
    std::memcpy(segment.data(), launch.kernarg.data(), launch.kernarg.size());
  }
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind != format::ArgumentKind::kHidden) continue;
    const std::optional<uint64_t> value = hidden_value(argument.value_kind, launch, values);
    if (!value) {
      return fail(
          Status::kUnsupported,
          fmt::format("the kernel takes {}, which the check cannot provide", argument.value_kind));
    }
    if (!range_fits(argument.offset_bytes, argument.size_bytes, size) || argument.size_bytes > 8) {
      return fail(Status::kCorrupt,
                  fmt::format("argument {} of {} bytes at {} does not fit the kernarg segment",
                              argument.value_kind, argument.size_bytes, argument.offset_bytes));
    }
    std::memcpy(segment.data() + argument.offset_bytes, &*value, argument.size_bytes);
  }
  return segment;
}

void write_packet(std::span<std::byte> packet, const LaunchShape& shape,
                  const PacketValues& values) {
  std::fill(packet.begin(), packet.end(), std::byte{0});
  put<uint16_t>(packet, 0, 2);  // a kernel dispatch packet
  put<uint16_t>(packet, 2, 3);  // dimensions
  for (size_t axis = 0; axis < 3; ++axis) {
    put(packet, 4 + 2 * axis, shape.block[axis]);
    put(packet, 12 + 4 * axis, shape.grid_items[axis]);
  }
  put(packet, 24, values.private_segment_bytes);
  put(packet, 28, values.group_segment_bytes);
  put(packet, 32, values.kernel_object);
  put(packet, 40, values.kernarg_address);
}

void write_queue(std::span<std::byte> queue) {
  std::fill(queue.begin(), queue.end(), std::byte{0});
  put<uint32_t>(queue, 64, emulator::Dispatch::kDefaultGroupApertureHi);
  put<uint32_t>(queue, 68, emulator::Dispatch::kDefaultPrivateApertureHi);
}

}  // namespace gfxgraph::check
