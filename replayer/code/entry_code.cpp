#include "replayer/code/entry_code.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "replayer/code/own_code.h"

namespace gfxgraph::replayer {
namespace {

// Fields of a kernel descriptor, by their offsets.
constexpr size_t kGroupBytes = 0;
constexpr size_t kPrivateBytes = 4;
constexpr size_t kKernargBytes = 8;
constexpr size_t kEntryOffset = 16;
constexpr size_t kRegisters1 = 48;  // COMPUTE_PGM_RSRC1
constexpr size_t kProperties = 56;
constexpr size_t kPreload = 58;

enum Property : uint16_t {
  kPrivateSegmentBuffer = 1 << 0,
  kDispatchPointer = 1 << 1,
  kQueuePointer = 1 << 2,
  kKernargPointer = 1 << 3,
  kWave32 = 1 << 10,
  kDynamicStack = 1 << 11,
};

// The template's address of the entry: the literals of two s_mov_b32 (scripts/make-own-code).
constexpr uint32_t kEntryLow = 0x9f5a31c7;
constexpr uint32_t kEntryHigh = 0x6e8bd204;
// From the first literal: s_load of the address and s_mov_b64 to the kernarg segment pointer.
constexpr size_t kLoadBefore = 20;
constexpr size_t kMoveBefore = 8;
constexpr size_t kHighBehind = 8;
constexpr uint32_t kMoveDestination = 16;  // bit of SDST in SOP1

template <typename Value>
Value get(std::span<const std::byte> bytes, size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <typename Value>
void set(std::span<std::byte> bytes, size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

std::optional<size_t> find_literal(std::span<const std::byte> elf) {
  for (size_t at = kLoadBefore; at + kHighBehind + sizeof(uint32_t) <= elf.size();
       at += sizeof(uint32_t)) {
    if (get<uint32_t>(elf, at) == kEntryLow && get<uint32_t>(elf, at + kHighBehind) == kEntryHigh)
      return at;
  }
  return {};
}

// GFX9 kernels have the scalar registers that they ask for, VCC among them only if they use it; the
// entry code does. Later ones have all.
bool add_registers(const std::string& architecture, std::span<std::byte> descriptor) {
  if (!architecture.starts_with("gfx9")) return true;
  constexpr uint32_t kShift = 6, kMask = 0xf, kGranule = 2, kMost = 12;
  const auto registers = get<uint32_t>(descriptor, kRegisters1);
  const uint32_t granules = (registers >> kShift & kMask) + kGranule;
  if (granules > kMost) return false;
  set(descriptor, kRegisters1, (registers & ~(kMask << kShift)) | granules << kShift);
  return true;
}

}  // namespace

Result<std::vector<std::byte>> make_entry_code(const std::string& architecture,
                                               const KernelDescriptor& kernel, uint64_t object) {
  std::vector<std::byte> elf = own_code(architecture, get<uint32_t>(kernel.bytes, kGroupBytes),
                                        get<uint32_t>(kernel.bytes, kPrivateBytes));
  const std::optional<KernelDescriptor> own =
      elf.empty() ? std::nullopt : find_descriptor(elf, kEntryKernel);
  const std::optional<size_t> literal = find_literal(elf);
  if (!own || !literal)
    return fail(Status::kUnsupported, "the library has no entry code for " + architecture);
  const auto properties = get<uint16_t>(kernel.bytes, kProperties);
  const auto own_properties = get<uint16_t>(own->bytes, kProperties);
  if ((properties & kKernargPointer) == 0)
    return fail(Status::kUnsupported, "the kernel reads no arguments");
  if (get<uint16_t>(kernel.bytes, kPreload) != 0)
    return fail(Status::kUnsupported, "the device loads the kernel's arguments into registers");
  if ((properties & kDynamicStack) != 0)
    return fail(Status::kUnsupported, "the kernel's stack is dynamic");
  if (((properties ^ own_properties) & kWave32) != 0)
    return fail(Status::kUnsupported, "the kernel's waves have another size");

  std::array<std::byte, KernelDescriptor::kBytes> descriptor = kernel.bytes;
  set(descriptor, kKernargBytes, uint32_t{sizeof(uint64_t)});
  set(descriptor, kEntryOffset, get<uint64_t>(own->bytes, kEntryOffset));
  if (!add_registers(architecture, descriptor))
    return fail(Status::kUnsupported, "the kernel uses all scalar registers");
  std::ranges::copy(descriptor, elf.begin() + static_cast<std::ptrdiff_t>(own->file_offset));

  // User registers before the kernarg segment pointer, in this order; a pair each, or two.
  uint32_t pair = 0;
  if ((properties & kPrivateSegmentBuffer) != 0) pair += 2;
  if ((properties & kDispatchPointer) != 0) ++pair;
  if ((properties & kQueuePointer) != 0) ++pair;
  const size_t load = *literal - kLoadBefore, move = *literal - kMoveBefore;
  set(elf, load, get<uint32_t>(elf, load) | pair);
  set(elf, move, get<uint32_t>(elf, move) | (2 * pair) << kMoveDestination);
  const uint64_t entry = object + get<uint64_t>(kernel.bytes, kEntryOffset);
  set(elf, *literal, static_cast<uint32_t>(entry));
  set(elf, *literal + kHighBehind, static_cast<uint32_t>(entry >> 32));
  return elf;
}

}  // namespace gfxgraph::replayer
