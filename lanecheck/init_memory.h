// Records which bytes of device memory have been written: a bit for each byte of the tracked
// buffers. Other memory counts as written.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "lanecheck/budget.h"

namespace gfxgraph::lanecheck {

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
  // The unwritten bytes among at most 64; bit n: address + n.
  uint64_t unwritten(uint64_t address, uint32_t bytes);
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
  struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
    std::vector<uint64_t> written;  // and a word behind, so that two can be read anywhere

    // The 64 bits from `at` on.
    uint64_t bits(uint64_t at) const {
      const uint64_t shift = at % 64;
      const uint64_t low = written[at / 64] >> shift;
      return shift == 0 ? low : low | written[at / 64 + 1] << (64 - shift);
    }
    void set(uint64_t from, uint64_t count, bool value);
    uint64_t left = 0;  // bytes that nobody wrote
  };
  Range* find(uint64_t address);
  void change(uint64_t address, uint64_t bytes, bool written);
  void set_bounds();

  Budget& budget_;
  uint64_t taken_ = 0;
  uint64_t low_ = 0, high_ = 0;  // of all ranges
  Range* last_ = nullptr;
  std::map<uint64_t, Range> ranges_;    // by address
  std::map<uint64_t, Origin> origins_;  // by address of a dword
};

}  // namespace gfxgraph::lanecheck
