#include "hsa/api/attributes.h"

#include <fmt/format.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>

#include "hsa/runtime.h"

// The installed headers' numbers.
#define GFXGRAPH_ATTRIBUTE(family, name, number, bytes) \
  static_assert(static_cast<uint32_t>(::name) == (number), #name);
#define GFXGRAPH_ATTRIBUTE_NEWER(...)
#include "hsa/api/attributes.inc"
#undef GFXGRAPH_ATTRIBUTE
#undef GFXGRAPH_ATTRIBUTE_NEWER

namespace gfxgraph::hsa {
namespace {

struct Row {
  AttributeOf of;
  uint32_t number;
  size_t bytes;
};

constexpr Row kRows[] = {
#define GFXGRAPH_ATTRIBUTE(family, name, number, bytes) {AttributeOf::family, number, bytes},
#define GFXGRAPH_ATTRIBUTE_NEWER(family, name, number, bytes) {AttributeOf::family, number, bytes},
#include "hsa/api/attributes.inc"
#undef GFXGRAPH_ATTRIBUTE
#undef GFXGRAPH_ATTRIBUTE_NEWER
};

}  // namespace

bool find_attribute(AttributeOf of, uint32_t number, size_t& bytes) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& known) {
    return known.of == of && known.number == number;
  });
  if (row == std::end(kRows)) return false;
  bytes = row->bytes;
  return true;
}

hsa_status_t Answer::put_text(std::string_view text) {
  if (expected_bytes_ == kTextBytes) return put_bytes(text.data(), text.size());
  bytes_.assign(expected_bytes_, std::byte{0});
  std::memcpy(bytes_.data(), text.data(), std::min(text.size(), expected_bytes_ - 1));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Answer::put_bytes(const void* data, size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(data);
  bytes_.assign(begin, begin + bytes);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Answer::unknown() const {
  return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT, call_,
                fmt::format("attribute {:#x} is not supported", number_).c_str());
}

hsa_status_t Answer::write(void* value) const {
  if (expected_bytes_ != kTextBytes && bytes_.size() != expected_bytes_) {
    return refuse(HSA_STATUS_ERROR, call_,
                  fmt::format("attribute {:#x} has {} bytes, the agent's value {}", number_,
                              expected_bytes_, bytes_.size())
                      .c_str());
  }
  if (!bytes_.empty()) std::memcpy(value, bytes_.data(), bytes_.size());
  return HSA_STATUS_SUCCESS;
}

}  // namespace gfxgraph::hsa
