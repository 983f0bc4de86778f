// Little-endian numbers in external bytes: every read is checked against the end.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gfxgraph {

static_assert(std::endian::native == std::endian::little,
              "gfxgraph reads and writes numbers as they lie in memory");

// `at` points to sizeof(T) readable bytes, of any alignment.
template <typename T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] inline T load_le(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
  requires std::is_trivially_copyable_v<T>
inline void store_le(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

// Appends `value` to `out`.
template <std::integral T>
inline void append_le(std::vector<std::byte>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  store_le(out.data() + at, value);
}

// A position in borrowed bytes, which must outlive the cursor. A failed read does not move it.
// Errors are kTruncated and name the position, counted from `base_offset` (the offset of the bytes
// in their file).
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes, uint64_t base_offset = 0) noexcept
      : bytes_(bytes), base_offset_(base_offset) {}

  [[nodiscard]] size_t position() const noexcept { return position_; }
  [[nodiscard]] size_t remaining() const noexcept { return bytes_.size() - position_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ == bytes_.size(); }

  // To an absolute position; the end itself is allowed.
  Result<void> seek(uint64_t position);
  Result<void> skip(uint64_t count);
  // Forward to the next multiple of `alignment` (a power of two) of the position.
  Result<void> align(uint64_t alignment);

  template <std::integral T>
  Result<T> read() {
    if (remaining() < sizeof(T)) return fail_short(sizeof(T));
    const T value = load_le<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }

  // Borrowed from the cursor's bytes.
  Result<std::span<const std::byte>> read_bytes(uint64_t count);
  // Up to a NUL, which is consumed and not part of the result.
  Result<std::string_view> read_c_string();

 private:
  [[nodiscard]] tl::unexpected<Error> fail_short(uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  uint64_t base_offset_ = 0;
  size_t position_ = 0;
};

}  // namespace gfxgraph
