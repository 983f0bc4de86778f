// Finds uses of unwritten values: in an address, a branch, or a copy to the host.
//
// The lane observer's shadow tracks registers; here values loaded from unwritten memory and LDS are
// undefined too. One bit per dword and lane: a dword with some written byte counts as defined. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"
#include "lanecheck/init_memory.h"
#include "lanecheck/lane_observer.h"

namespace gfxgraph::lanecheck {

struct InitWave {
  static constexpr unsigned kMost = 16;  // dwords of a scalar load
  // The dwords that the current instruction has loaded: for each, the lanes whose bytes were
  // written. Those behind are all ones.
  std::array<uint32_t, kMost> loaded;
  unsigned dwords = 0;
  bool pending = false;  // not all of it was

  // The first of the dwords that an access loads. Lanes of a FLAT load that go to LDS and lanes
  // that go to memory are two events for the same registers.
  unsigned first_of(const emulator::MemoryEvent& event) const {
    return event.other_space == 0 ? dwords : 0;
  }
  // Their bytes were all written.
  void load_written(const emulator::MemoryEvent& event) {
    const unsigned end = first_of(event) + (event.access_bytes + 3u) / 4;
    dwords = std::max(dwords, std::min(end, kMost));
  }
  void row_loaded() { dwords = std::min(dwords + 1, kMost); }
  // The shadow of a bitwise scalar instruction's result.
  std::array<uint32_t, 2> bits;
  bool bits_known = false;  // all of it
  struct Lds : WrittenBytes {
    uint32_t waves = 0;
  };
  Lds* lds = nullptr;  // of the workgroup; null: it has none
};

class InitCheck {
 public:
  using Inst = emulator::Inst;
  using Wave = emulator::Wave;

  InitCheck(Sites& sites, Budget& budget) : sites_(sites), memory_(budget) {}

  InitMemory& memory() { return memory_; }
  void next_launch(uint32_t kernel) { kernel_ = kernel; }
  void dispatch_begin() { lds_.clear(); }
  void wave_begin(InitWave& me, const Wave& wave);
  void wave_end(const Wave& wave);

  // Hooks around an instruction, in addition to the lane observer's.
  static bool is_branch(const Inst& inst);
  static bool is_bitwise(const Inst& inst);

  // `region`: all launched lanes are in it, as the program requested it. Null: not known.
  GFXGRAPH_INLINE void access(LaneWaveState& state, InitWave& me, const Wave& wave,
                              const Inst& inst, const emulator::MemoryEvent& event, uint32_t lanes,
                              const emulator::RegionCacheEntry* region);
  // Of an access to this region: its operands are defined, and the region is written as a whole.
  GFXGRAPH_INLINE bool row_is_written(const LaneWaveState& state, const Inst& inst,
                                      const emulator::RegionCacheEntry& region);
  void scalar_load(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                   const emulator::ScalarEvent& event);
  // After an instruction with InitWave::pending.
  static void finish_load(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst);
  void branch(LaneWaveState& state, const Wave& wave, const Inst& inst);
  static void before_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave,
                             const Inst& inst);
  void after_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst);
  // EXEC was written, and not all of its shadow is defined.
  void exec_written(LaneWaveState& state, const Wave& wave, const Inst& inst);

  // A copy to the host, of memory at this address.
  void read_by_host(uint64_t launch, uint64_t address, uint64_t bytes);

 private:
  GFXGRAPH_INLINE bool all_written(const InitWave& me, const Wave& wave,
                                   const emulator::MemoryEvent& event,
                                   const emulator::RegionCacheEntry* region);
  void each_lane(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                 const emulator::MemoryEvent& event, uint32_t lanes);
  void report_address(LaneWaveState& state, const Wave& wave, const Inst& inst, uint32_t exec);
  static bool returns(const Inst& inst) {
    return (inst.mods & emulator::mmod::kGlc) != 0 || inst.dst != emulator::operand::kNone;
  }
  static bool stores_defined(const LaneWaveState& state, const Inst& inst,
                             const emulator::MemoryEvent& event, uint32_t lanes);
  // The lanes whose texel an image store writes from defined registers.
  static uint32_t defined_texels(const LaneWaveState& state, const Wave& wave, const Inst& inst);
  void load(InitWave& me, const emulator::MemoryEvent& event, uint32_t lanes);
  // A texel of which a dword is unwritten makes all that the instruction loads undefined.
  void load_texels(InitWave& me, const Inst& inst, const emulator::MemoryEvent& event,
                   uint32_t lanes);
  void store(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
             const emulator::MemoryEvent& event, uint32_t lanes);
  void report(LaneWaveState& state, const Wave& wave, const Inst& inst, FindingClass found,
              uint32_t lanes, const char* detail);

  Sites& sites_;
  InitMemory memory_;
  uint32_t kernel_ = 0;
  std::unordered_map<const emulator::Workgroup*, InitWave::Lds> lds_;
};

}  // namespace gfxgraph::lanecheck
