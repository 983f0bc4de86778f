// The attributes of hsa/api/attributes.inc, and the common part of every ..._get_info call, which
// writes exactly the bytes of the attribute's row or nothing.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace gfxgraph::hsa {

enum class AttributeOf {
  kSystem,
  kAgent,
  kIsa,
  kPool,
  kAgentPool,
  kRegion,
  kExecutable,
  kSymbol,
  kQueue,
  kLoadedObject
};

// Size of text, and of lists whose length another attribute returns.
constexpr size_t kTextBytes = SIZE_MAX;

// Attribute numbers by name, including those that the installed headers lack.
namespace attribute {
enum Number : uint32_t {
#define GFXGRAPH_ATTRIBUTE(family, name, number, bytes) name = number,
#define GFXGRAPH_ATTRIBUTE_NEWER(family, name, number, bytes) name = number,
#include "hsa/api/attributes.inc"
#undef GFXGRAPH_ATTRIBUTE
#undef GFXGRAPH_ATTRIBUTE_NEWER
};
}  // namespace attribute

// The value of one attribute, for the caller of ..._get_info.
class Answer {
 public:
  Answer(const char* call, uint32_t number, size_t expected_bytes)
      : call_(call), number_(number), expected_bytes_(expected_bytes) {}

  template <typename T>
  hsa_status_t put(const T& value) {
    return put_bytes(&value, sizeof(T));
  }
  // A char array of the attribute's size: pads with zeros, truncates longer text.
  hsa_status_t put_text(std::string_view text);
  // Any bytes; of any length for an attribute of kTextBytes.
  hsa_status_t put_bytes(const void* data, size_t bytes);
  // Logs the call and the number; returns HSA_STATUS_ERROR_INVALID_ARGUMENT.
  hsa_status_t unknown() const;

  // Writes the value to `value`; fails if its size is not that of the attribute.
  hsa_status_t write(void* value) const;

 private:
  const char* call_;
  uint32_t number_;
  size_t expected_bytes_;
  std::vector<std::byte> bytes_;
};

// Sets `bytes` to the attribute's size. False if the family has no such attribute.
bool find_attribute(AttributeOf of, uint32_t number, size_t& bytes);

// Implements a ..._get_info call: fill(number, Answer&) puts the value, which is then written to
// `value`.
template <typename Number, typename Fill>
hsa_status_t answer(const char* call, AttributeOf of, Number number, void* value,
                    const Fill& fill) {
  if (value == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto plain = static_cast<uint32_t>(number);
  size_t bytes = 0;
  const bool known = find_attribute(of, plain, bytes);
  Answer out(call, plain, bytes);
  if (!known) return out.unknown();
  const hsa_status_t status = fill(plain, out);
  return status == HSA_STATUS_SUCCESS ? out.write(value) : status;
}

}  // namespace gfxgraph::hsa
