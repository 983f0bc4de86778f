#include "replayer/session/prepared.h"

#include <fmt/format.h>

#include "format/image_boxes.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kMostInGroup = 1024;  // work items; of every AMD GPU

}  // namespace

hip::Memcpy3dParams PreparedCopy::parameters() const {
  hip::Memcpy3dParams result;
  result.destination = {destination, destination_pitch, width,
                        destination_slice / destination_pitch};
  result.source = {const_cast<uint8_t*>(source), source_pitch, width, source_slice / source_pitch};
  result.extent = {width, height, depth};
  result.kind = kind;
  if (!in_array()) return result;
  // Widths and places in arrays count texels.
  result.extent.width = width / shape->format.bytes();
  const auto place = [](const format::ArrayShape& array, const uint8_t* pointer) {
    const format::ArrayBox box =
        format::array_place(array, reinterpret_cast<uint64_t>(pointer) - kArrayBase);
    return hip::Position{box.x, box.y, box.z};
  };
  if (destination_array != nullptr) {
    result.destination_array = destination_array;
    result.destination = {};
    result.destination_position = place(*shape, destination);
  }
  if (source_array != nullptr) {
    result.source_array = source_array;
    result.source = {};
    result.source_position = place(*source_shape, source);
  }
  return result;
}

// kArrayCopyFromBeginning: the pointer must be that of the allocation, and the rest a position.
hip::Memcpy3dParams PreparedCopy::parameters(const HipTable& hip) const noexcept {
  hip::Memcpy3dParams result = parameters();
  if (!in_array() || hip.hipMemGetAddressRange == nullptr) return result;
  const auto split = [&](hip::PitchedPointer& memory, hip::Position& position, uint64_t offset) {
    void* base = nullptr;
    size_t size = 0;
    if (memory.pointer == nullptr) return;
    if (hip.hipMemGetAddressRange(&base, &size, memory.pointer) != hip::kSuccess) {
      hip.hipGetLastError();  // memory that HIP does not know
      return;
    }
    // Of registered memory HIP 5.2.3 gives no base. Memory registers whole pages, and shifts a
    // buffer by less than one.
    if (base == nullptr) {
      constexpr uintptr_t kPage = 4096;
      const auto begin = reinterpret_cast<uintptr_t>(memory.pointer) - offset;
      base = reinterpret_cast<void*>(begin / kPage * kPage);
    }
    position.x =
        static_cast<size_t>(static_cast<uint8_t*>(memory.pointer) - static_cast<uint8_t*>(base));
    memory.pointer = base;
  };
  split(result.source, result.source_position, source_offset);
  split(result.destination, result.destination_position, destination_offset);
  return result;
}

hip::Error PreparedCopy::submit(const HipTable& hip, hip::Stream stream) const noexcept {
  if (linear()) {
    return hip.hipMemcpyAsync(destination, source, width, kind, stream);
  }
  if (depth == 1 && !in_array()) {
    return hip.hipMemcpy2DAsync(destination, destination_pitch, source, source_pitch, width, height,
                                kind, stream);
  }
  const hip::Memcpy3dParams box = parameters(hip);
  return hip.hipMemcpy3DAsync(&box, stream);
}

hip::Error PreparedMemset::submit(const HipTable& hip, hip::Stream stream) const noexcept {
  const auto number = static_cast<int>(value);
  for (uint64_t z = 0; z < depth; ++z) {
    uint8_t* const plane = destination + z * slice;
    if (element_bytes == 1 && height > 1) {
      const hip::Error code = hip.hipMemset2DAsync(plane, pitch, number, width, height, stream);
      if (code != hip::kSuccess) return code;
      continue;
    }
    for (uint64_t row = 0; row < height; ++row) {
      uint8_t* const line = plane + row * pitch;
      hip::Error code = hip::kSuccess;
      if (small_row != nullptr) {
        code = hip.hipMemcpyAsync(copy_destination + (line - destination), small_row,
                                  width * element_bytes, hip::kCopyDefault, stream);
        if (code != hip::kSuccess) return code;
        continue;
      }
      if (element_bytes == 1) code = hip.hipMemsetAsync(line, number, width, stream);
      if (element_bytes == 2) {
        code = hip.hipMemsetD16Async(line, static_cast<unsigned short>(value), width, stream);
      }
      if (element_bytes == 4) code = hip.hipMemsetD32Async(line, number, width, stream);
      if (code != hip::kSuccess) return code;
    }
  }
  return hip::kSuccess;
}

// HIP 5.2.3 checks the sizes of a launch, but not those of a graph's node: it cuts them off.
Result<void> check_sizes(const Program& program, uint32_t operation, const hip::Dim3& grid,
                         const hip::Dim3& block) {
  const std::array<uint64_t, 3> groups = {grid.x, grid.y, grid.z};
  const std::array<uint64_t, 3> items = {block.x, block.y, block.z};
  const auto& remainder = program.operations()[operation].launch->grid_remainder;
  uint64_t in_group = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] == 0 || items[i] == 0)
      return fail(Status::kInvalidArgument, program.describe(operation) + ": an empty grid");
    const uint64_t last = remainder[i] == 0 ? items[i] : remainder[i];
    if ((groups[i] - 1) * items[i] + last > UINT32_MAX) {
      return fail(Status::kInvalidArgument,
                  fmt::format("{}: {} workgroups of {} work items in one dimension: no device runs "
                              "2^32 or more",
                              program.describe(operation), groups[i], items[i]));
    }
    in_group = items[i] > kMostInGroup ? kMostInGroup + 1 : in_group * items[i];
    if (in_group <= kMostInGroup) continue;
    return fail(
        Status::kInvalidArgument,
        fmt::format("{}: workgroups of {} x {} x {} work items: a device runs {}",
                    program.describe(operation), items[0], items[1], items[2], kMostInGroup));
  }
  return {};
}

}  // namespace gfxgraph::replayer
