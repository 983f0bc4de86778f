// Source: LLVM AMDGPUUsage, "Kernel Descriptor" and "compute_pgm_rsrc1 for GFX6-GFX12".
#include <fmt/format.h>

#include <cstring>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {
namespace {

constexpr size_t kDescriptorBytes = 64;

template <typename T>
T read(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Result<void> check_reserved(std::span<const std::byte> bytes, size_t offset, size_t size) {
  for (size_t i = offset; i < offset + size; ++i) {
    if (bytes[i] != std::byte{0}) {
      return fail(Status::kCorrupt,
                  fmt::format("kernel descriptor: reserved byte {} is {:#x}, not zero", i,
                              std::to_integer<unsigned>(bytes[i])));
    }
  }
  return {};
}

}  // namespace

Result<KernelDescriptor> decode_descriptor(std::span<const std::byte> bytes) {
  if (bytes.size() < kDescriptorBytes) {
    return fail(Status::kTruncated,
                fmt::format("kernel descriptor: {} bytes, 64 are needed", bytes.size()));
  }
  GFXGRAPH_TRY(check_reserved(bytes, 12, 4));
  GFXGRAPH_TRY(check_reserved(bytes, 24, 20));
  GFXGRAPH_TRY(check_reserved(bytes, 60, 4));  // bytes 58-59: kernarg preload of other targets
  KernelDescriptor descriptor;
  descriptor.group_segment_bytes = read<uint32_t>(bytes, 0);
  descriptor.private_segment_bytes = read<uint32_t>(bytes, 4);
  descriptor.kernarg_bytes = read<uint32_t>(bytes, 8);
  descriptor.entry_offset_bytes = read<int64_t>(bytes, 16);
  descriptor.compute_pgm_rsrc3 = read<uint32_t>(bytes, 44);
  descriptor.compute_pgm_rsrc1 = read<uint32_t>(bytes, 48);
  descriptor.compute_pgm_rsrc2 = read<uint32_t>(bytes, 52);
  descriptor.kernel_code_properties = read<uint16_t>(bytes, 56);
  constexpr uint16_t kReservedProperties = 0xf380;  // bits 7-9 and 12-15
  if ((descriptor.kernel_code_properties & kReservedProperties) != 0) {
    return fail(Status::kCorrupt,
                fmt::format("kernel descriptor: kernel_code_properties {:#x} has reserved bits set",
                            descriptor.kernel_code_properties));
  }
  return descriptor;
}

uint32_t KernelDescriptor::vgpr_count(bool wave32) const {
  const uint32_t granules = (compute_pgm_rsrc1 & 63) + 1;
  return granules * (wave32 ? 8 : 4);  // GFX10: a granule is 8 registers in wave32, 4 in wave64
}

}  // namespace gfxgraph::codeobj
