#include "recorder/launch/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

using format::ArgumentKind;

// Keys of `extra`, HIP's values (hip_runtime_api.h, HIP_LAUNCH_PARAM_*).
constexpr uintptr_t kExtraBuffer = 1;
constexpr uintptr_t kExtraSize = 2;
constexpr uintptr_t kExtraEnd = 3;
constexpr int kMaxExtraPairs = 16;
constexpr size_t kMostKernargBytes = 1u << 20;  // without metadata: far more than a kernel takes

bool describes_arguments(const format::Kernel& kernel) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [](const format::Argument& a) { return a.kind != ArgumentKind::kHidden; });
}

StackInUse readable_in_place(ArgumentsAre are) {
  return are == ArgumentsAre::kReadByHip ? StackInUse{0, UINTPTR_MAX} : own_stack();
}

}  // namespace

[[gnu::hot]] ArgumentsAre arguments_before(const LaunchShape& shape) noexcept {
  constexpr uint64_t kMostItems = UINT32_MAX;  // of an axis
  constexpr uint64_t kMostOfBlock = 1024;
  constexpr uint64_t kMostLdsBytes = 64 * 1024;
  uint64_t items = 1;
  bool fits = shape.dynamic_lds_bytes <= kMostLdsBytes;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t size = shape.block[axis];
    fits = fits && size - 1 < kMostOfBlock && shape.grid[axis] != 0 &&
           shape.grid[axis] * size <= kMostItems;
    items *= size;
  }
  return fits && items <= kMostOfBlock ? ArgumentsAre::kReadByHip : ArgumentsAre::kUnknown;
}

[[gnu::hot]] bool kernarg_from_params(const format::Kernel& kernel, void* const* params,
                                      ArgumentsAre are, std::vector<uint8_t>& kernarg) {
  kernarg.assign(kernel.explicit_size_bytes, 0);
  if (params == nullptr) return true;
  const StackInUse readable = readable_in_place(are);
  size_t index = 0;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden) continue;
    const void* value = nullptr;
    if (!read_argument(readable, params + index++, &value, sizeof(value))) return false;
    if (value == nullptr || argument.offset_bytes > kernarg.size()) continue;
    uint8_t* const place = kernarg.data() + argument.offset_bytes;
    const size_t size =
        std::min<size_t>(argument.size_bytes, kernarg.size() - argument.offset_bytes);
    // Most arguments are pointers and numbers: avoid a call for them.
    if (!readable.holds(value, size)) [[unlikely]] {
      if (!read_argument(readable, value, place, size)) return false;
    } else if (size == 8) {
      std::memcpy(place, value, 8);
    } else if (size == 4) {
      std::memcpy(place, value, 4);
    } else {
      std::memcpy(place, value, size);
    }
  }
  return true;
}

namespace {

// A pair of the list.
struct Extra {
  uintptr_t key = 0;
  const void* value = nullptr;
};

tl::unexpected<Error> unreadable(const format::Kernel& kernel) {
  return fail(Status::kInvalidArgument,
              fmt::format("the arguments of {} cannot be read", kernel.name));
}

}  // namespace

Result<void> kernarg_from_extra(const format::Kernel& kernel, void* const* extra, ArgumentsAre are,
                                std::vector<uint8_t>& kernarg) {
  const StackInUse stack = readable_in_place(are);
  const auto lost = [&] { return unreadable(kernel); };
  const void* buffer = nullptr;
  size_t size = 0;
  bool ended = false;
  for (int pair = 0; pair < kMaxExtraPairs && !ended; ++pair) {
    Extra one;
    if (!read_argument(stack, extra + size_t{2} * pair, &one.key, sizeof(one.key))) return lost();
    ended = one.key == kExtraEnd || one.key == 0;
    if (ended) break;
    if (!read_argument(stack, extra + size_t{2} * pair + 1, &one.value, sizeof(one.value)))
      return lost();
    if (one.key == kExtraBuffer) {
      buffer = one.value;
    } else if (one.key == kExtraSize) {
      if (one.value != nullptr && !read_argument(stack, one.value, &size, sizeof(size)))
        return lost();
    } else {
      return fail(
          Status::kUnsupported,
          fmt::format("unknown key {:#x} in the launch's extra list of {}", one.key, kernel.name));
    }
  }
  if (!ended) {
    return fail(Status::kInvalidArgument,
                fmt::format("the launch's extra list of {} has no end", kernel.name));
  }
  if (!describes_arguments(kernel)) {
    kernarg.clear();
    if (buffer == nullptr || size == 0) return {};
    if (size > kMostKernargBytes) return lost();
    kernarg.resize(size);
    if (!read_argument(stack, buffer, kernarg.data(), size)) return lost();
    return {};
  }
  kernarg.assign(kernel.explicit_size_bytes, 0);
  const size_t most = std::min(size, kernarg.size());
  if (buffer == nullptr || most == 0) return {};
  if (!stack.holds(buffer, most)) {
    static thread_local std::vector<uint8_t> read;
    read.resize(most);
    if (!read_argument(stack, buffer, read.data(), most)) return lost();
    buffer = read.data();
  }
  // Argument by argument, because the padding between them may contain anything.
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden || argument.offset_bytes >= size) continue;
    const size_t bytes = std::min<size_t>(argument.size_bytes, size - argument.offset_bytes);
    if (argument.offset_bytes + bytes > kernarg.size()) continue;
    std::memcpy(kernarg.data() + argument.offset_bytes,
                static_cast<const uint8_t*>(buffer) + argument.offset_bytes, bytes);
  }
  return {};
}

Result<void> kernarg_from_call(const format::Kernel& kernel, void* const* params,
                               void* const* extra, ArgumentsAre are,
                               std::vector<uint8_t>& kernarg) {
  if (params == nullptr && extra != nullptr) {
    GFXGRAPH_TRY(kernarg_from_extra(kernel, extra, are, kernarg));
    kernarg.resize(kernel.explicit_size_bytes);
    return {};
  }
  if (!kernarg_from_params(kernel, params, are, kernarg)) return unreadable(kernel);
  return {};
}

std::string describe_argument(const format::Kernel& kernel, uint64_t offset_bytes) {
  size_t index = 0;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden) continue;
    if (offset_bytes >= argument.offset_bytes &&
        offset_bytes - argument.offset_bytes < argument.size_bytes) {
      const std::string name = argument.name.empty() ? "" : fmt::format(" '{}'", argument.name);
      const uint64_t inside = offset_bytes - argument.offset_bytes;
      const std::string place = inside == 0 ? "" : fmt::format(" at byte {}", inside);
      return fmt::format("argument {}{}{}", index, name, place);
    }
    ++index;
  }
  return fmt::format("kernarg byte {}", offset_bytes);
}

std::string describe_kernarg_offset(const format::Kernel& kernel, uint64_t offset_bytes) {
  return fmt::format("{} of kernel {}", describe_argument(kernel, offset_bytes), kernel.name);
}

}  // namespace gfxgraph::recorder
