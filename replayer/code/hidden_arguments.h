// The hidden arguments of a dispatch. HIP fills them in for launches; mode packets does so itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/trace.h"

namespace gfxgraph::replayer {

enum class HiddenValue : uint8_t {
  kZero,
  kBlockCount,      // whole workgroups
  kGroupSize,       // work items
  kRemainder,       // work items of the partial workgroup
  kGridDimensions,  // HIP always says 3
  kDynamicLds,      // bytes
  kPrivateBase,     // high halves of the apertures of the queue
  kSharedBase,
  kQueue,
};

struct HiddenField {
  HiddenValue value = HiddenValue::kZero;
  uint8_t dimension = 0;
  uint32_t offset_bytes = 0;
  uint32_t size_bytes = 0;
};

struct HiddenFacts {
  std::array<uint32_t, 3> work_items{};
  std::array<uint32_t, 3> block{};
  uint32_t dynamic_lds_bytes = 0;
  uint64_t queue = 0;
  uint32_t private_base = 0;
  uint32_t shared_base = 0;
};

// The nonzero ones of a kernel. kUnsupported: one that packets cannot provide, or that is unknown,
// or the trace lacks their offsets.
Result<std::vector<HiddenField>> hidden_fields(const format::Kernel& kernel);
// `kernarg` holds every field.
void write_hidden(std::span<const HiddenField> fields, const HiddenFacts& facts,
                  std::byte* kernarg) noexcept;

}  // namespace gfxgraph::replayer
