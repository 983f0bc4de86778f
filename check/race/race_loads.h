// What racecheck remembers of a wave's loads since the last barrier, if later instructions may tell
// what they were for (race_lanes.cpp).
#pragma once

#include <cstdint>

#include "emulator/engine/context.h"

namespace gfxgraph::check {

// A read of whole LDS dwords by up to 32 lanes.
struct LdsRead {
  uint16_t address[emulator::kLanes];
  uint64_t mine;
  uint32_t lanes;
  uint32_t bytes;
};

struct RecentLoad {
  uint32_t place;
  uint32_t lanes;       // 0: a scalar load, of the bytes from address[0] on
  uint32_t bytes = 0;   // per lane; 0: not valid any more
  uint16_t first_lane;  // of a wave64's half
  bool lds;
  // Came from the stack: the dword in memory of what the reload's first one held, or unknown; and
  // the dwords of the reload that came from there.
  int8_t skipped;
  bool any_dword;
  uint8_t first_dword, end_dword;
  bool learned;      // the load from memory may meet stores of other waves
  bool compared;     // perhaps the value decided what the wave does
  uint64_t from_pc;  // of the load from memory
  bool repeatable;   // came from the stack: as Update::repeatable, of what was done before
  uint64_t address[emulator::kLanes];
};

struct RecentLoads {
  static constexpr uint32_t kMost = 8;
  uint32_t count = 0;  // since the last barrier
  RecentLoad load[kMost];
};

// Loaded values that are on the stack: code without optimisation keeps variables there.
struct StackValues {
  static constexpr uint32_t kMost = 16;
  struct Slot {
    uint64_t at = 0;     // address, as if lane 0 had it
    uint32_t bytes = 0;  // per lane; 0: unused
    uint32_t lanes = 0;  // that have the value there
    bool repeatable = false;
    RecentLoad load;  // which gave it
  };
  uint32_t next = 0;
  Slot slot[kMost];
  // Loads from the stack, with place and lanes of these, but the address of the load that gave the
  // value.
  RecentLoads reloads;
  // A copy of what the load gave is compared.
  void compare(uint64_t from_pc) {
    for (Slot& one : slot) one.load.compared |= one.load.from_pc == from_pc;
  }
  void forget() {
    for (Slot& one : slot) one.bytes = 0;
    for (RecentLoad& one : reloads.load) one.bytes = 0;
    reloads.count = 0;
  }
};

}  // namespace gfxgraph::check
