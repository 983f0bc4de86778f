// Arithmetic on external sizes and offsets: overflow is a result, never undefined.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace gfxgraph {

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <std::integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// Whether [offset, offset + size) lies inside [0, limit).
[[nodiscard]] constexpr bool range_fits(uint64_t offset, uint64_t size, uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

// `alignment` is a power of two. Empty if the result does not fit.
[[nodiscard]] constexpr std::optional<uint64_t> checked_align_up(uint64_t value,
                                                                 uint64_t alignment) noexcept {
  const std::optional<uint64_t> sum = checked_add<uint64_t>(value, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum & ~(alignment - 1);
}

}  // namespace gfxgraph
