// Records which bytes of device memory have been written: a bit for each byte of the tracked
// buffers. Other memory counts as written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "lanecheck/budget.h"

namespace gfxgraph::lanecheck {

// A bit for each byte: whether it was written.
struct WrittenBytes {
  uint64_t bytes = 0;
  uint64_t left = 0;              // bytes that nobody wrote
  std::vector<uint64_t> written;  // and a word behind, so that two can be read anywhere

  void reset(uint64_t size) {
    bytes = left = size;
    written.assign(size / 64 + 2, 0);
  }
  // The 64 bits from `at` on.
  uint64_t bits(uint64_t at) const {
    const uint64_t shift = at % 64;
    const uint64_t low = written[at / 64] >> shift;
    return shift == 0 ? low : low | written[at / 64 + 1] << (64 - shift);
  }
  // Whether all of [from, from + count) are.
  bool all(uint64_t from, uint64_t count) const {
    if (from >= bytes || count > bytes - from) return false;
    if (left == 0) return true;
    for (; count > 64; from += 64, count -= 64)
      if (bits(from) != ~uint64_t{0}) return false;
    return count == 0 || ~bits(from) << (64 - count) == 0;
  }
  void set(uint64_t from, uint64_t count, bool value);
};

// One thread.
class InitMemory {
 public:
  explicit InitMemory(Budget& budget) : budget_(budget) {}
  ~InitMemory();
  InitMemory(const InitMemory&) = delete;
  InitMemory& operator=(const InitMemory&) = delete;

  // A store of a value computed from unwritten bytes.
  struct Origin {
    uint32_t kernel = 0;
    uint64_t pc = 0;
  };

  Result<void> begin(uint64_t address, uint64_t bytes);
  void end(uint64_t address);
  // Whether there is nothing to check: quick.
  bool may_be_unwritten(uint64_t address) const { return address - low_ < high_ - low_; }
  // Whether none of the bytes is in a buffer that is followed, or the buffer is written as a whole:
  // quick.
  bool needs_no_look(uint64_t address, uint64_t bytes) {
    if (address >= high_ || address + bytes <= low_) return true;
    return in_written_buffer(address, address + bytes - 1);
  }
  // The unwritten bytes among at most 64; bit n: address + n.
  uint64_t unwritten(uint64_t address, uint32_t bytes);
  // Whether the bytes are in one buffer, and written.
  bool all_written(uint64_t address, uint64_t bytes) {
    const Range* const range = find(address);
    return range != nullptr && range->all(address - range->address, bytes);
  }
  // Whether the bytes are in a buffer that is written as a whole: quick.
  bool in_written_buffer(uint64_t first, uint64_t last) {
    const Range* const range = find(first);
    return range != nullptr && range->left == 0 && last - range->address < range->bytes;
  }
  // How many of them.
  uint64_t count_unwritten(uint64_t address, uint64_t bytes);
  void set_written(uint64_t address, uint64_t bytes);
  // Marks the range as unwritten.
  void set_undefined(uint64_t address, uint64_t bytes, const Origin& origin);
  // The first store in [address, address + bytes) of such a value; null: there was none.
  const Origin* origin(uint64_t address, uint64_t bytes) const;
  void copy(uint64_t to, uint64_t from, uint64_t bytes);

 private:
  struct Range : WrittenBytes {
    uint64_t address = 0;
  };
  // Kernels go from buffer to buffer: the last one that was found in each part of the addresses.
  Range* find(uint64_t address) {
    Range* const near = near_[(address >> 12) * 0x9E3779B97F4A7C15u >> 59];
    if (near != nullptr && address - near->address < near->bytes) return near;
    return search(address);
  }
  Range* search(uint64_t address);
  void change(uint64_t address, uint64_t bytes, bool written);
  void set_bounds();

  Budget& budget_;
  uint64_t taken_ = 0;
  uint64_t low_ = 0, high_ = 0;  // of all ranges
  std::array<Range*, 32> near_ = {};
  std::map<uint64_t, Range> ranges_;    // by address
  std::map<uint64_t, Origin> origins_;  // by address of a dword
};

}  // namespace gfxgraph::lanecheck
