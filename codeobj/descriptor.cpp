// Source: LLVM AMDGPUUsage, "Kernel Descriptor" and "compute_pgm_rsrc1 for GFX6-GFX12".
#include <fmt/format.h>

#include <cstring>

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {
namespace {

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
  GFXGRAPH_TRY(check_reserved(bytes, 60, 4));
  KernelDescriptor descriptor;
  descriptor.group_segment_bytes = read<uint32_t>(bytes, 0);
  descriptor.private_segment_bytes = read<uint32_t>(bytes, 4);
  descriptor.kernarg_bytes = read<uint32_t>(bytes, 8);
  descriptor.entry_offset_bytes = read<int64_t>(bytes, 16);
  descriptor.compute_pgm_rsrc3 = read<uint32_t>(bytes, 44);
  descriptor.compute_pgm_rsrc1 = read<uint32_t>(bytes, 48);
  descriptor.compute_pgm_rsrc2 = read<uint32_t>(bytes, 52);
  descriptor.kernel_code_properties = read<uint16_t>(bytes, 56);
  descriptor.kernarg_preload = read<uint16_t>(bytes, 58);
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

uint32_t KernelDescriptor::user_sgprs_asked() const {
  // SGPRs of: private segment buffer; dispatch, queue and kernarg pointer; dispatch id; flat
  // scratch; private segment size.
  constexpr uint32_t kSgprs[7] = {4, 2, 2, 2, 2, 2, 1};
  uint32_t count = 0;
  for (unsigned bit = 0; bit < 7; ++bit)
    if ((kernel_code_properties >> bit & 1) != 0) count += kSgprs[bit];
  return count;
}

std::string KernelDescriptor::gfx10_error() const {
  constexpr uint32_t kVgprs = 256;
  constexpr uint32_t kUserSgprs = 16;
  // PRIV, DEBUG_MODE, BULKY, CDBG_USER; the address watch and memory violation exceptions.
  constexpr uint32_t kZeroInRsrc1 = 1u << 20 | 1u << 22 | 1u << 24 | 1u << 25;
  constexpr uint32_t kZeroInRsrc2 = 1u << 13 | 1u << 14 | 1u << 31;
  if (vgpr_count(wave32()) > kVgprs)
    return fmt::format(
        "the descriptor's GRANULATED_WORKITEM_VGPR_COUNT allocates {} VGPRs; a wave "
        "has {}",
        vgpr_count(wave32()), kVgprs);
  if (user_sgpr_count() > kUserSgprs)
    return fmt::format("the descriptor's USER_SGPR_COUNT is {}; a wave has {}", user_sgpr_count(),
                       kUserSgprs);
  if (user_sgprs_asked() > user_sgpr_count())
    return fmt::format(
        "the descriptor enables {} user SGPRs (kernel_code_properties), but USER_SGPR_COUNT is {}",
        user_sgprs_asked(), user_sgpr_count());
  if ((compute_pgm_rsrc2 >> 11 & 3) == 3)
    return "the descriptor's ENABLE_VGPR_WORKITEM_ID is 3, which is undefined";
  if ((compute_pgm_rsrc1 & kZeroInRsrc1) != 0)
    return fmt::format("the descriptor's compute_pgm_rsrc1 {:#x} has bits set that must be zero",
                       compute_pgm_rsrc1);
  if ((compute_pgm_rsrc2 & kZeroInRsrc2) != 0)
    return fmt::format("the descriptor's compute_pgm_rsrc2 {:#x} has bits set that must be zero",
                       compute_pgm_rsrc2);
  if (kernarg_preload != 0)
    return fmt::format("the descriptor's kernarg_preload is {:#x}, which gfx10 does not have",
                       kernarg_preload);
  return {};
}

}  // namespace gfxgraph::codeobj
