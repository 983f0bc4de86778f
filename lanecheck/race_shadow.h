// Who touched which bytes last, for the race check: cells of three stamps, five where atomics are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lanecheck/budget.h"

namespace gfxgraph::lanecheck {

// One access: the wave, its clock, the instruction, and which of the 4 bytes. 0: nobody.
namespace stamp {
inline constexpr unsigned kWaveShift = 36;   // 28 bits, counted through all launches
inline constexpr unsigned kClockShift = 18;  // 18 bits
inline constexpr unsigned kSiteShift = 4;    // 14 bits
inline constexpr uint64_t kAllBytes = 15;
inline constexpr uint64_t kMostWaves = uint64_t{1} << 27;  // compared as signed numbers
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

// Arrays next to each other, so that whole rows of lanes are compared at once.
struct RaceCells {
  uint64_t* write = nullptr;   // the last write that is no atomic
  uint64_t* read = nullptr;    // the last read since then
  uint64_t* reader = nullptr;  // the last read by another wave than that one
  // The same of atomics. Null: there was none.
  uint64_t* atomic = nullptr;
  uint64_t* atomic_of_other = nullptr;
};

// The cells of global memory. A line of 64 bytes that was accessed as a whole only has one cell; an
// access to a part of it splits it. One thread.
class RaceShadow {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kPageLines = kPageBytes / kLineBytes;
  static constexpr size_t kLineCells = kLineBytes / 4;
  static constexpr uint64_t kBlockBytes = 1024;  // whose split lines are stored together
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
    uint64_t split = 0;  // lines
    bool has_atomics[kPageBytes / kBlockBytes] = {};
    std::unique_ptr<Block> block[kPageBytes / kBlockBytes];
    std::unique_ptr<Atomics> atomics[kPageBytes / kBlockBytes];

    RaceCells line_cells() { return {lines.write, lines.read, lines.reader}; }
    // Of the block that holds the byte, whose line is split.
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

  // Null: there is no memory for it, and the budget is exhausted.
  Page* page(uint64_t address) {
    const uint64_t number = address / kPageBytes;
    Near& near = near_[number * 0x9E3779B97F4A7C15u >> 58];
    if (near.number != number) [[unlikely]] {
      near.page = find(number);
      near.number = near.page == nullptr ? UINT64_MAX : number;
    }
    return near.page;
  }
  // Null: nothing is recorded there.
  Page* look(uint64_t address) {
    const auto found = pages_.find(address / kPageBytes);
    return found == pages_.end() ? nullptr : found->second.get();
  }
  // Gives each dword of the line a cell. False as above.
  bool split(Page& page, uint64_t into, bool with_atomics = false);
  // A line that was written as a whole.
  static void join(Page& page, size_t line, uint64_t write);
  // The memory is given out anew. Forgets all accesses to its lines, also those of a neighbour that
  // shares the first or last one: a hazard may be missed, but none is made up.
  void forget(uint64_t address, uint64_t bytes);
  // Every access so far comes before every later one.
  void recycle();
  // As recycle(), and stamps may be used anew.
  void clear();

 private:
  struct Near {
    uint64_t number = UINT64_MAX;
    Page* page = nullptr;
  };
  Page* find(uint64_t number);
  bool take(uint64_t bytes);

  Budget& budget_;
  uint64_t taken_ = 0;  // bytes of it
  std::array<Near, 64> near_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  // Their stamps are older than all that may be a hazard: as good as empty.
  std::vector<std::unique_ptr<Page>> spare_;
};

}  // namespace gfxgraph::lanecheck
