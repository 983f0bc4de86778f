// Tracks which bytes of device memory have been written, with one bit per byte of the tracked
// buffers. Other memory counts as written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/report/sites.h"

namespace gfxgraph::check {

// One bit per byte: whether it was written.
struct WrittenBytes {
  uint64_t bytes = 0;
  uint64_t left = 0;              // unwritten bytes
  std::vector<uint64_t> written;  // with an extra word, so that bits() can read two

  void reset(uint64_t size) {
    bytes = left = size;
    written.assign(size / 64 + 2, 0);
  }
  // The 64 bits from byte `at` on.
  uint64_t bits(uint64_t at) const {
    const uint64_t shift = at % 64;
    const uint64_t low = written[at / 64] >> shift;
    return shift == 0 ? low : low | written[at / 64 + 1] << (64 - shift);
  }
  // Whether all bytes of [from, from + count) are written.
  bool all(uint64_t from, uint64_t count) const {
    if (from >= bytes || count > bytes - from) return false;
    if (left == 0) return true;
    for (; count > 64; from += 64, count -= 64)
      if (bits(from) != ~uint64_t{0}) return false;
    return count == 0 || ~bits(from) << (64 - count) == 0;
  }
  void set(uint64_t from, uint64_t count, bool value);
};

// Not thread-safe.
class InitMemory {
 public:
  explicit InitMemory(Budget& budget) : budget_(budget) {}
  ~InitMemory();
  InitMemory(const InitMemory&) = delete;
  InitMemory& operator=(const InitMemory&) = delete;

  // A store of undefined values.
  struct Origin {
    uint32_t kernel = 0;
    uint64_t pc = 0;
    emulator::Op op = emulator::Op{0};
    EventPlace place;
    uint64_t trace_event = 0;  // of the launch
    uint64_t lanes = 0;
    // Made of unwritten bytes by an instruction, not only moved: structs have padding.
    bool computed = false;
  };

  // Starts and stops tracking a buffer. A new buffer is unwritten.
  Result<void> begin(uint64_t address, uint64_t bytes);
  void end(uint64_t address);
  // Fast: false if no tracked buffer can hold the address.
  bool may_be_unwritten(uint64_t address) const { return address - low_ < high_ - low_; }
  // Fast: whether the bytes are outside all tracked buffers, or in one that is completely written.
  bool needs_no_look(uint64_t address, uint64_t bytes) {
    if (address >= high_ || address + bytes <= low_) return true;
    return in_written_buffer(address, address + bytes - 1);
  }
  // Mask of the unwritten bytes among `bytes` (at most 64); bit n: address + n.
  uint64_t unwritten(uint64_t address, uint32_t bytes);
  // Whether the bytes are in one tracked buffer and written.
  bool all_written(uint64_t address, uint64_t bytes) {
    const Range* const range = find(address);
    return range != nullptr && range->all(address - range->address, bytes);
  }
  // Fast: whether the bytes are in a tracked buffer that is completely written.
  bool in_written_buffer(uint64_t first, uint64_t last) {
    const Range* const range = find(first);
    return range != nullptr && range->left == 0 && last - range->address < range->bytes;
  }
  // The number of unwritten bytes.
  uint64_t count_unwritten(uint64_t address, uint64_t bytes);
  void set_written(uint64_t address, uint64_t bytes);
  // Marks the range as unwritten. `origin` as from add_origin().
  void set_undefined(uint64_t address, uint64_t bytes, uint32_t origin);
  uint32_t add_origin(const Origin& origin);
  // Whether a dword of the range was stored computed from unwritten bytes.
  bool computed(uint64_t address, uint64_t bytes) const;
  // The stores of undefined values in [address, address + bytes), each once, at most kMostOfRange.
  static constexpr size_t kMostOfRange = 16;
  std::vector<const Origin*> origins(uint64_t address, uint64_t bytes) const;
  void copy(uint64_t to, uint64_t from, uint64_t bytes);

 private:
  struct Range : WrittenBytes {
    uint64_t address = 0;
  };
  // Kernels alternate between buffers: caches the last one found per hash of the address.
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
  uint64_t low_ = 0, high_ = 0;  // bounds of all ranges
  std::array<Range*, 32> near_ = {};
  std::map<uint64_t, Range> ranges_;  // by address
  std::vector<Origin> stores_;
  std::map<std::tuple<uint64_t, uint64_t, bool>, uint32_t> store_of_;  // launch, pc, computed
  std::map<uint64_t, uint32_t> origins_;  // index in stores_, by address of a dword
};

}  // namespace gfxgraph::check
