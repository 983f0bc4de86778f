// The only way in which the recorder reads memory of the program that HIP has not just read itself:
// the program may have unmapped or protected it, or may do so meanwhile. No read here faults.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gfxgraph::recorder {

// Returns false, and leaves `to` undefined, unless all bytes could be read. Any thread; no lock.
bool read_program(uint64_t address, std::span<std::byte> to) noexcept;
// The same of several places, one after another in `to`.
struct ProgramBytes {
  uint64_t address = 0;
  size_t size_bytes = 0;
};
bool read_program(std::span<const ProgramBytes> parts, std::span<std::byte> to) noexcept;
// The part of the calling thread's stack that is in use: it can be read in place while the caller
// runs. Empty on stacks that the program switched to itself.
struct StackInUse {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool holds(const void* first, size_t size_bytes) const noexcept {
    const auto address = reinterpret_cast<uintptr_t>(first);
    return address >= begin && address < end && size_bytes <= end - address;
  }
};
StackInUse own_stack() noexcept;
// read_program(), without a system call for what lies on the stack.
inline bool read_argument(const StackInUse& stack, const void* from, void* to,
                          size_t size_bytes) noexcept {
  if (!stack.holds(from, size_bytes)) [[unlikely]] {
    return read_program(reinterpret_cast<uint64_t>(from),
                        {static_cast<std::byte*>(to), size_bytes});
  }
  std::memcpy(to, from, size_bytes);
  return true;
}
// What a pointer in a call of the program leads to; nothing where it cannot be read.
template <typename T>
std::optional<T> read_given(const T* pointer) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::array<std::byte, sizeof(T)> bytes;
  if (!read_argument(own_stack(), pointer, bytes.data(), sizeof(T))) return std::nullopt;
  return std::bit_cast<T>(bytes);
}
template <typename T>
std::optional<std::vector<T>> read_list(const T* first, size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr size_t kMost = size_t{1} << 24;
  if (count > kMost) return std::nullopt;
  std::vector<T> values(count);
  if (!read_program(reinterpret_cast<uint64_t>(first), std::as_writable_bytes(std::span(values))))
    return std::nullopt;
  return values;
}
// Up to its null byte, or its first `most` characters; nothing where it cannot be read.
std::optional<std::string> read_text(const char* text, size_t most);

// A name: as much of it as may stand in a trace, cut where a character of UTF-8 begins.
std::string cut_name(const char* text);

}  // namespace gfxgraph::recorder
