#include "recorder/model/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gfxgraph::recorder {
namespace {

using format::ArgumentKind;

// Keys of `extra`, HIP's values (hip_runtime_api.h, HIP_LAUNCH_PARAM_*).
constexpr uintptr_t kExtraBuffer = 1;
constexpr uintptr_t kExtraSize = 2;
constexpr uintptr_t kExtraEnd = 3;
constexpr int kMaxExtraPairs = 16;

bool describes_arguments(const format::Kernel& kernel) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [](const format::Argument& a) { return a.kind != ArgumentKind::kHidden; });
}

}  // namespace

[[gnu::hot]] void kernarg_from_params(const format::Kernel& kernel, void* const* params,
                                      std::vector<uint8_t>& kernarg) {
  kernarg.assign(kernel.explicit_size_bytes, 0);
  if (params == nullptr) return;
  size_t index = 0;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind == ArgumentKind::kHidden) continue;
    const void* value = params[index++];
    if (value == nullptr || argument.offset_bytes > kernarg.size()) continue;
    uint8_t* const place = kernarg.data() + argument.offset_bytes;
    const size_t size =
        std::min<size_t>(argument.size_bytes, kernarg.size() - argument.offset_bytes);
    // Most arguments are pointers and numbers: avoid a call for them.
    if (size == 8) {
      std::memcpy(place, value, 8);
    } else if (size == 4) {
      std::memcpy(place, value, 4);
    } else {
      std::memcpy(place, value, size);
    }
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
  // Argument by argument, because the padding between them may contain anything.
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
