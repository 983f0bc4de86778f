// The waves of a workgroup to the race check: their clocks, what each follows of the others, and
// the accesses to LDS.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/race/race_loads.h"
#include "check/race/race_shadow.h"

namespace gfxgraph::check {

// Clocks of waves of other workgroups, sorted by wave. Shared and immutable.
using ForeignClocks = std::vector<std::pair<uint64_t, uint32_t>>;
using SharedClocks = std::shared_ptr<const ForeignClocks>;

inline constexpr unsigned kMostGroupWaves = 32;

// Waves that read the last write of a dword by a waiting load or a compare-and-swap.
struct SyncReads {
  struct Reader {
    uint32_t clock = 0;
    bool swaps = false;
  };
  static constexpr size_t kMost = 65536;  // in a map of them; later ones are not remembered
  uint64_t write = 0;
  std::unordered_map<uint64_t, Reader> readers;  // by wave
};

struct RaceGroup {
  // What a wave that reads a dword of LDS learns from those that wrote it.
  struct Release {
    std::array<uint32_t, kMostGroupWaves> lds = {};   // as Wave::lds_seen
    std::array<uint32_t, kMostGroupWaves> seen = {};  // as Wave::seen
    SharedClocks foreign;
  };
  struct Wave {
    uint32_t clock = 1;
    uint32_t fence = 0;            // clock of the last fence; 0: none
    bool touched = false;          // accessed memory since the clock advanced
    bool learned = true;           // follows more waves or clocks than at the last fence
    bool after_fence = false;      // no stores to memory since the last fence
    bool lds_after_fence = false;  // no stores to LDS since the last fence
    bool after_barrier = false;    // the next fence belongs to __syncthreads()
    bool released = false;         // the clock must advance before other accesses to LDS
    bool arrived = false;          // is at a barrier
    bool ended = false;
    std::array<uint32_t, kMostGroupWaves> seen = {};  // per wave: the clock ordered before this
    std::array<uint32_t, kMostGroupWaves> seen_at_fence = {};
    // The same for accesses to LDS, which a wave performs in order, with or without fences.
    std::array<uint32_t, kMostGroupWaves> lds_seen = {};
    SharedClocks foreign;
    SharedClocks at_fence;  // its clock and all that it followed at the fence; only if syncs_
    SharedClocks at_device_fence;  // at_fence, of the last fence for more than the workgroup

    // As a new one of a workgroup of so many, which the arrays are used for.
    void begin(uint32_t waves) {
      clock = 1;
      fence = 0;
      touched = after_fence = lds_after_fence = after_barrier = released = arrived = ended = false;
      learned = true;
      for (auto* const clocks : {&seen, &seen_at_fence, &lds_seen})
        std::fill_n(clocks->begin(), waves, 0);
      foreign = at_fence = at_device_fence = nullptr;
    }
  };
  uint64_t first_wave = 0;
  uint64_t number = 0;  // linear workgroup number
  uint32_t waves = 0;
  uint32_t live = 0;
  uint32_t arrived = 0;
  std::array<Wave, kMostGroupWaves> wave;
  std::vector<uint64_t> lds;  // five stamps per dword; unused ones are 0
  uint32_t lds_dwords = 0;
  // Dwords accessed since the last barrier, which discards older accesses. All others are zero.
  size_t lds_from = SIZE_MAX, lds_to = 0;
  bool lds_atomics = false;
  // Reads since the last barrier that are not in the stamps, while nothing has been written. A
  // barrier discards them; a write, or a read of another form, moves them to the stamps.
  static constexpr size_t kMostReads = 2048;
  std::unique_ptr<LdsRead[]> reads;
  size_t read_count = 0;
  std::unordered_map<uint32_t, Release> releases;      // by dword; since the last barrier
  std::unordered_map<uint64_t, SyncReads> sync_reads;  // by dword; since the last barrier
  bool watches = false;                                // `recent` holds something
  std::unique_ptr<RecentLoads[]> recent;               // by wave
  std::unique_ptr<StackValues[]> stack;                // by wave; null: none had any
  void forget_loads(uint32_t of_wave) {
    recent[of_wave].count = 0;
    if (stack != nullptr) stack[of_wave].forget();
  }
  void begin_lds(uint32_t dwords) {
    forget_lds();
    lds_dwords = dwords;
    if (lds.size() < size_t{5} * dwords) lds.resize(size_t{5} * dwords);
  }
  void forget_lds() {
    read_count = 0;
    if (!releases.empty()) releases.clear();
    if (!sync_reads.empty()) sync_reads.clear();
    if (lds_from >= lds_to) return;
    const RaceCells cells = lds_cells();
    for (uint64_t* const stamps :
         {cells.write, cells.read, cells.reader, cells.atomic, cells.atomic_of_other})
      if (stamps != nullptr) std::fill(stamps + lds_from, stamps + lds_to, 0);
    lds_atomics = false;
    lds_from = SIZE_MAX;
    lds_to = 0;
  }
  GFXGRAPH_INLINE void touch_lds(size_t at, size_t count) {
    lds_from = at < lds_from ? at : lds_from;
    lds_to = at + count > lds_to ? at + count : lds_to;
  }
  RaceCells lds_cells() {
    const size_t dwords = lds_dwords;
    uint64_t* const first = lds.data();
    return {first, first + dwords, first + 2 * dwords, lds_atomics ? first + 3 * dwords : nullptr,
            lds_atomics ? first + 4 * dwords : nullptr};
  }
};

}  // namespace gfxgraph::check
