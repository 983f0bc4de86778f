#include "recorder/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gfxgraph::recorder {
namespace {

using format::ArgumentKind;
using format::Relocation;
using format::RelocationSource;

constexpr uint64_t kTargetAlignBytes = 4;
// Keys of `extra`, HIP's values (hip_runtime_api.h, HIP_LAUNCH_PARAM_*).
constexpr uintptr_t kExtraBuffer = 1;
constexpr uintptr_t kExtraSize = 2;
constexpr uintptr_t kExtraEnd = 3;
constexpr int kMaxExtraPairs = 16;

uint64_t word_at(const void* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

bool describes_arguments(const format::Kernel& kernel) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [](const format::Argument& a) { return a.kind != ArgumentKind::kHidden; });
}

bool unusual_target(const Allocation& allocation, uint64_t addend) {
  return addend % kTargetAlignBytes != 0 || addend == allocation.size_bytes;
}

const format::Argument* argument_at(const format::Kernel& kernel, uint64_t offset) {
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind != ArgumentKind::kHidden && offset >= argument.offset_bytes &&
        offset - argument.offset_bytes < argument.size_bytes) {
      return &argument;
    }
  }
  return nullptr;
}

// Whether a matched word at `offset` has nothing but its value that says "pointer".
bool ambiguous_place(const format::Kernel& kernel, uint64_t offset) {
  const format::Argument* argument = argument_at(kernel, offset);
  if (argument == nullptr) return describes_arguments(kernel) || offset % 8 != 0;
  const uint64_t end = uint64_t{argument->offset_bytes} + argument->size_bytes;
  return argument->size_bytes <= 8 || offset % 8 != 0 || offset + 8 > end;
}

}  // namespace

void kernarg_from_params(const format::Kernel& kernel, void* const* params,
                         std::vector<uint8_t>& kernarg) {
  kernarg.assign(kernel.explicit_size_bytes, 0);
  if (params == nullptr) return;
  size_t index = 0;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden) continue;
    const void* value = params[index++];
    if (value == nullptr || argument.offset_bytes > kernarg.size()) continue;
    const size_t room = kernarg.size() - argument.offset_bytes;
    std::memcpy(kernarg.data() + argument.offset_bytes, value,
                std::min<size_t>(argument.size_bytes, room));
  }
}

std::vector<uint8_t> kernarg_from_params(const format::Kernel& kernel, void* const* params) {
  std::vector<uint8_t> kernarg;
  kernarg_from_params(kernel, params, kernarg);
  return kernarg;
}

Result<void> kernarg_from_extra(const format::Kernel& kernel, void* const* extra,
                                std::vector<uint8_t>& kernarg) {
  const uint8_t* buffer = nullptr;
  size_t size = 0;
  bool ended = false;
  for (int pair = 0; pair < kMaxExtraPairs && !ended; ++pair) {
    const uintptr_t key = reinterpret_cast<uintptr_t>(extra[2 * pair]);
    if (key == kExtraEnd || key == 0) {
      ended = true;
    } else if (key == kExtraBuffer) {
      buffer = static_cast<const uint8_t*>(extra[2 * pair + 1]);
    } else if (key == kExtraSize) {
      if (extra[2 * pair + 1] != nullptr) size = *static_cast<const size_t*>(extra[2 * pair + 1]);
    } else {
      return fail(
          Status::kUnsupported,
          fmt::format("unknown key {:#x} in the launch's extra list of {}", key, kernel.name));
    }
  }
  if (!ended) {
    return fail(Status::kInvalidArgument,
                fmt::format("the launch's extra list of {} has no end", kernel.name));
  }
  if (!describes_arguments(kernel)) {
    kernarg.assign(buffer == nullptr ? 0 : size, 0);
    if (!kernarg.empty()) std::memcpy(kernarg.data(), buffer, kernarg.size());
    return {};
  }
  kernarg.assign(kernel.explicit_size_bytes, 0);
  if (buffer == nullptr) return {};
  // Argument by argument: the padding between them may hold anything.
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden || argument.offset_bytes >= size) continue;
    const size_t bytes = std::min<size_t>(argument.size_bytes, size - argument.offset_bytes);
    if (argument.offset_bytes + bytes > kernarg.size()) continue;
    std::memcpy(kernarg.data() + argument.offset_bytes, buffer + argument.offset_bytes, bytes);
  }
  return {};
}

Result<std::vector<uint8_t>> kernarg_from_extra(const format::Kernel& kernel, void* const* extra) {
  std::vector<uint8_t> kernarg;
  GFXGRAPH_TRY(kernarg_from_extra(kernel, extra, kernarg));
  return kernarg;
}

void find_kernarg_relocations(const format::Kernel& kernel, std::span<const uint8_t> kernarg,
                              const AllocationMap& map, std::vector<Relocation>& found) {
  found.clear();
  const uint64_t lowest = map.lowest();
  const uint64_t highest = map.highest();
  const auto typed = [](const format::Argument* argument) {
    return argument != nullptr && argument->kind == ArgumentKind::kGlobalBuffer;
  };
  for (uint64_t offset = 0; offset + 8 <= kernarg.size(); offset += 4) {
    const uint64_t value = word_at(kernarg.data() + offset);
    if (value < lowest || value > highest) continue;
    const Allocation* target = map.find(value);
    if (target == nullptr) continue;
    const format::Argument* argument = argument_at(kernel, offset);
    const bool whole =
        typed(argument) && argument->offset_bytes == offset && argument->size_bytes == 8;
    // Half of a pointer with its neighbour, and LDS offsets, are no addresses.
    if (!whole && (typed(argument) || typed(argument_at(kernel, offset + 4)))) continue;
    if (argument != nullptr && argument->kind == ArgumentKind::kDynamicSharedPointer) continue;
    if (found.empty()) found.reserve(8);  // once, not at 1, 2, 4
    Relocation relocation;
    relocation.offset_bytes = offset;
    relocation.allocation = target->id;
    relocation.addend = value - target->address;
    relocation.source = whole ? RelocationSource::kTyped : RelocationSource::kMatched;
    relocation.ambiguous =
        !whole && (ambiguous_place(kernel, offset) || unusual_target(*target, relocation.addend));
    found.push_back(relocation);
    offset += 4;  // and 4 more from the loop: the next word
  }
}

std::vector<Relocation> find_kernarg_relocations(const format::Kernel& kernel,
                                                 std::span<const uint8_t> kernarg,
                                                 const AllocationMap& map) {
  std::vector<Relocation> found;
  find_kernarg_relocations(kernel, kernarg, map, found);
  return found;
}

std::vector<Relocation> find_memory_relocations(std::span<const std::byte> bytes,
                                                const AllocationMap& map) {
  std::vector<Relocation> found;
  const uint64_t lowest = map.lowest_ever();
  if (map.highest_ever() < lowest) return found;
  const uint64_t span = map.highest_ever() - lowest;
  for (uint64_t offset = 0; offset + 8 <= bytes.size(); offset += 8) {
    const uint64_t value = word_at(bytes.data() + offset);
    if (value - lowest > span) continue;
    const Allocation* target = map.find_live_or_freed(value);
    if (target == nullptr) continue;
    Relocation relocation;
    relocation.offset_bytes = offset;
    relocation.allocation = target->id;
    relocation.addend = value - target->address;
    relocation.source = RelocationSource::kMatched;
    relocation.ambiguous = unusual_target(*target, relocation.addend);
    found.push_back(relocation);
  }
  return found;
}

std::string describe_kernarg_offset(const format::Kernel& kernel, uint64_t offset_bytes) {
  size_t index = 0;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden) continue;
    if (offset_bytes >= argument.offset_bytes &&
        offset_bytes - argument.offset_bytes < argument.size_bytes) {
      const std::string name = argument.name.empty() ? "" : fmt::format(" '{}'", argument.name);
      const uint64_t inside = offset_bytes - argument.offset_bytes;
      const std::string place = inside == 0 ? "" : fmt::format(" at byte {}", inside);
      return fmt::format("argument {}{}{} of kernel {}", index, name, place, kernel.name);
    }
    ++index;
  }
  return fmt::format("kernarg byte {} of kernel {}", offset_bytes, kernel.name);
}

}  // namespace gfxgraph::recorder
