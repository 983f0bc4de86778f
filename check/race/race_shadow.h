// The last accesses to each dword, for the race check: cells of three stamps, five if there were
// atomics.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/budget.h"
#include "check/memory/second_addresses.h"

namespace gfxgraph::check {

// An access, packed: the wave, its clock, the instruction, and a mask of the 4 bytes. 0: none.
namespace stamp {
inline constexpr unsigned kWaveShift = 36;   // 28 bits, numbered across all launches
inline constexpr unsigned kClockShift = 18;  // 18 bits
inline constexpr unsigned kSiteShift = 4;    // 14 bits
inline constexpr uint64_t kAllBytes = 15;
inline constexpr uint64_t kMostWaves = uint64_t{1} << 27;  // stamps are compared as signed numbers
inline constexpr uint32_t kMostClock = (1u << 18) - 1;
inline constexpr uint32_t kSites = 1u << 14;

constexpr uint64_t wave(uint64_t s) { return s >> kWaveShift; }
constexpr uint32_t clock(uint64_t s) {
  return static_cast<uint32_t>(s >> kClockShift) & kMostClock;
}
constexpr uint32_t site(uint64_t s) {
  return static_cast<uint32_t>(s >> kSiteShift) & (kSites - 1);
}
constexpr uint64_t bytes(uint64_t s) { return s & kAllBytes; }
constexpr uint64_t make(uint64_t wave, uint32_t clock) {
  return wave << kWaveShift | uint64_t{clock} << kClockShift;
}
}  // namespace stamp

// Separate arrays, so that rows of lanes are compared with vector instructions.
struct RaceCells {
  uint64_t* write = nullptr;   // the last non-atomic write
  uint64_t* read = nullptr;    // the last read since that write
  uint64_t* reader = nullptr;  // the last read by another wave
  // The last atomic, and the last one of another wave. Null: there was none.
  uint64_t* atomic = nullptr;
  uint64_t* atomic_of_other = nullptr;
};

// The cells of global memory. A 64-byte line has one cell as long as all accesses cover the whole
// line; an access to a part splits it into cells per dword. Not thread-safe.
class RaceShadow {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kPageLines = kPageBytes / kLineBytes;
  static constexpr size_t kLineCells = kLineBytes / 4;
  static constexpr uint64_t kBlockBytes = 1024;  // cells of split lines are allocated per block
  static constexpr size_t kBlockCells = kBlockBytes / 4;

  struct Stamps {
    uint64_t write[kPageLines], read[kPageLines], reader[kPageLines];
  };
  struct Block {
    uint64_t write[kBlockCells], read[kBlockCells], reader[kBlockCells];
  };
  struct Atomics {
    uint64_t last[kBlockCells], of_other[kBlockCells];
  };
  struct Page {
    Stamps lines;
    uint64_t split = 0;  // bit per line
    bool has_atomics[kPageBytes / kBlockBytes] = {};
    std::unique_ptr<Block> block[kPageBytes / kBlockBytes];
    std::unique_ptr<Atomics> atomics[kPageBytes / kBlockBytes];

    RaceCells line_cells() { return {lines.write, lines.read, lines.reader}; }
    // The cells of the block that holds the byte at offset `into`, whose line must be split.
    RaceCells cells(uint64_t into) {
      const size_t n = into / kBlockBytes;
      Block& one = *block[n];
      if (!has_atomics[n]) return {one.write, one.read, one.reader};
      return {one.write, one.read, one.reader, atomics[n]->last, atomics[n]->of_other};
    }
  };

  explicit RaceShadow(Budget& budget) : budget_(budget) {}
  ~RaceShadow();
  RaceShadow(const RaceShadow&) = delete;
  RaceShadow& operator=(const RaceShadow&) = delete;

  // The page of an address, created if needed. Null: no memory for it, and the budget is exhausted.
  Page* page(uint64_t address) {
    const uint64_t number = address / kPageBytes;
    Near& near = near_[number * 0x9E3779B97F4A7C15u >> 58];
    if (near.number != number) [[unlikely]] {
      near.page = find(number);
      near.number = near.page == nullptr ? UINT64_MAX : number;
    }
    return near.page;
  }
  // The page of an address, or null if no access is recorded there.
  Page* look(uint64_t address) {
    const auto found = pages_.find(seconds_.chunk(address / kPageBytes));
    return found == pages_.end() ? nullptr : found->second.get();
  }
  // Gives each dword of the line its own cell. False: no memory, and the budget is exhausted.
  bool split(Page& page, uint64_t into, bool with_atomics = false);
  // Makes a line that was written as a whole one cell again.
  static void join(Page& page, size_t line, uint64_t write);
  // Call when memory is reused. Forgets all accesses to its lines, including those of a neighbour
  // in the first or last line: this may miss a hazard, but reports no false one.
  void forget(uint64_t address, uint64_t bytes);
  // Memory begins at `first` that is reached at `second`, too (0: it is not).
  void begin(uint64_t first, uint64_t second, uint64_t bytes);
  // The first address of the byte at `address`.
  uint64_t first_address(uint64_t address) const { return seconds_.address(address); }
  // Every access so far is ordered before every later one.
  void recycle();
  // As recycle(), and stamps may be reused.
  void clear();

 private:
  struct Near {
    uint64_t number = UINT64_MAX;
    Page* page = nullptr;
  };
  Page* find(uint64_t number);
  bool take(uint64_t bytes);

  Budget& budget_;
  uint64_t taken_ = 0;  // bytes taken from the budget
  std::array<Near, 64> near_;
  SecondAddresses<kPageBytes> seconds_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  // Pages whose stamps are all too old to be hazards, which counts as empty.
  std::vector<std::unique_ptr<Page>> spare_;
};

}  // namespace gfxgraph::check
