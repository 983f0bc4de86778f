// Attributes of hsa/attributes.inc: their numbers under the headers' names, and the frame around
// every ..._get_info call, which writes exactly the bytes of the attribute's row or nothing.
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

// Text, and lists whose length another attribute returns.
constexpr size_t kTextBytes = SIZE_MAX;

// Numbers under their names, also those that the installed headers lack.
namespace attribute {
enum Number : uint32_t {
#define GFXGRAPH_ATTRIBUTE(family, name, number, bytes) name = number,
#define GFXGRAPH_ATTRIBUTE_NEWER(family, name, number, bytes) name = number,
#include "hsa/attributes.inc"
#undef GFXGRAPH_ATTRIBUTE
#undef GFXGRAPH_ATTRIBUTE_NEWER
};
}  // namespace attribute

// One attribute's value, to be returned to the caller.
class Answer {
 public:
  Answer(const char* call, uint32_t number, size_t expected_bytes)
      : call_(call), number_(number), expected_bytes_(expected_bytes) {}

  template <typename T>
  hsa_status_t put(const T& value) {
    return put_bytes(&value, sizeof(T));
  }
  // A char array, zero-filled; a longer text is truncated.
  hsa_status_t put_text(std::string_view text);
  // Also for attributes of kTextBytes.
  hsa_status_t put_bytes(const void* data, size_t bytes);
  // The agent has no such attribute.
  hsa_status_t unknown() const;

  // Writes the value; rejects one whose size differs from the attribute's.
  hsa_status_t write(void* value) const;

 private:
  const char* call_;
  uint32_t number_;
  size_t expected_bytes_;
  std::vector<std::byte> bytes_;
};

// False if the family has no such attribute.
bool find_attribute(AttributeOf of, uint32_t number, size_t& bytes);

// Calls fill(number, Answer&) and writes its value to `value`.
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
