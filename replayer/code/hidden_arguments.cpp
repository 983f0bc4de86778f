#include "replayer/code/hidden_arguments.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "base/checked.h"

namespace gfxgraph::replayer {
namespace {

struct Row {
  std::string_view kind;
  HiddenValue value;
  uint8_t dimension;
  const char* refusal;  // or null
};

constexpr Row kRows[] = {
#define GFXGRAPH_HIDDEN(kind, value, dimension) {#kind, HiddenValue::value, dimension, nullptr},
#define GFXGRAPH_HIDDEN_REFUSED(kind, reason) {#kind, HiddenValue::kZero, 0, reason},
#include "replayer/code/hidden_arguments.inc"
#undef GFXGRAPH_HIDDEN_REFUSED
#undef GFXGRAPH_HIDDEN
};

uint64_t value_of(const HiddenField& field, const HiddenFacts& facts) noexcept {
  const uint32_t items = facts.work_items[field.dimension];
  const uint32_t block = facts.block[field.dimension];
  switch (field.value) {
    case HiddenValue::kZero: return 0;
    case HiddenValue::kBlockCount: return items / block;
    case HiddenValue::kGroupSize: return block;
    case HiddenValue::kRemainder: return items % block;
    case HiddenValue::kGridDimensions: return 3;
    case HiddenValue::kDynamicLds: return facts.dynamic_lds_bytes;
    case HiddenValue::kPrivateBase: return facts.private_base;
    case HiddenValue::kSharedBase: return facts.shared_base;
    case HiddenValue::kQueue: return facts.queue;
  }
  return 0;
}

}  // namespace

[[gnu::cold]] Result<std::vector<HiddenField>> hidden_fields(const format::Kernel& kernel) {
  std::vector<HiddenField> fields;
  bool any = false;
  for (const format::Argument& argument : kernel.arguments) {
    if (argument.kind != format::ArgumentKind::kHidden) continue;
    any = true;
    const Row* row = nullptr;
    for (const Row& one : kRows) {
      if (one.kind == argument.value_kind) row = &one;
    }
    if (row == nullptr) {
      return fail(Status::kUnsupported,
                  fmt::format("hidden argument {} is not known", argument.value_kind));
    }
    if (row->refusal != nullptr) return fail(Status::kUnsupported, row->refusal);
    if (argument.size_bytes > sizeof(uint64_t) ||
        !range_fits(argument.offset_bytes, argument.size_bytes, kernel.kernarg_size_bytes)) {
      return fail(Status::kCorrupt,
                  fmt::format("hidden argument {} of {} bytes at {}", argument.value_kind,
                              argument.size_bytes, argument.offset_bytes));
    }
    if (row->value == HiddenValue::kZero) continue;
    fields.push_back({row->value, row->dimension, argument.offset_bytes, argument.size_bytes});
  }
  if (!any && kernel.kernarg_size_bytes >= kernel.explicit_size_bytes + sizeof(uint64_t)) {
    return fail(Status::kUnsupported,
                fmt::format("the trace does not describe the {} bytes of hidden arguments after "
                            "the {} explicit ones",
                            kernel.kernarg_size_bytes - kernel.explicit_size_bytes,
                            kernel.explicit_size_bytes));
  }
  return fields;
}

void write_hidden(std::span<const HiddenField> fields, const HiddenFacts& facts,
                  std::byte* kernarg) noexcept {
  for (const HiddenField& field : fields) {
    const uint64_t value = value_of(field, facts);
    std::memcpy(kernarg + field.offset_bytes, &value, field.size_bytes);  // little-endian
  }
}

}  // namespace gfxgraph::replayer
