// Finds uses of uninitialized values in an address, a branch, or a copy to the host.
//
// Extends the lane observer's shadow of registers: values loaded from unwritten memory and LDS are
// undefined too. One bit per dword and lane; a dword with any written byte is defined. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check/init/init_memory.h"
#include "check/lanes/lane_observer.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

struct InitWave {
  static constexpr unsigned kMost = 16;  // most dwords of a scalar load
  // For each dword that the current instruction has loaded, the lanes whose bytes were written.
  // Later elements are all ones.
  std::array<uint32_t, kMost> loaded;
  unsigned dwords = 0;
  bool pending = false;  // some lane loaded an unwritten dword
  // Of `loaded`: lanes that got what an instruction made of unwritten bytes and stored.
  std::array<uint32_t, kMost> computed;
  // LaneWaveState::raw. Few waves change any: the next one needs only those anew.
  std::array<uint32_t, 512> raw;
  unsigned raw_from = 0, raw_to = 512;  // may not be all ones
  void set_raw(unsigned code, uint32_t lanes, uint32_t value) {
    raw[code] = (raw[code] & ~lanes) | (value & lanes);
    raw_from = std::min(raw_from, code);
    raw_to = std::max(raw_to, code + 1);
  }

  // Index in `loaded` of the access's first dword. A FLAT load whose lanes access both LDS and
  // memory has two events for the same registers.
  unsigned first_of(const emulator::MemoryEvent& event) const {
    return event.other_space == 0 ? dwords : 0;
  }
  // Records a load whose bytes were all written.
  void load_written(const emulator::MemoryEvent& event) {
    const unsigned end = first_of(event) + (event.access_bytes + 3u) / 4;
    dwords = std::max(dwords, std::min(end, kMost));
  }
  void load_written(uint32_t bytes) { dwords = std::min(dwords + (bytes + 3) / 4, kMost); }
  // The shadow of a bitwise scalar instruction's result.
  std::array<uint32_t, 2> bits;
  bool bits_known = false;  // `bits` holds the whole shadow
  struct Lds : WrittenBytes {
    uint32_t waves = 0;
    std::vector<bool> computed;  // by dword, of unwritten bytes; empty: none
  };
  Lds* lds = nullptr;  // the workgroup's; null: it has no LDS
};

class InitCheck {
 public:
  using Inst = emulator::Inst;
  using Wave = emulator::Wave;

  InitCheck(Sites& sites, Budget& budget) : sites_(sites), memory_(budget) {}

  InitMemory& memory() { return memory_; }
  // `trace_event`: the sequence number of the launch's event.
  void next_launch(uint32_t kernel, uint64_t trace_event) {
    kernel_ = kernel;
    trace_event_ = trace_event;
  }
  void dispatch_begin() { lds_.clear(); }
  void wave_begin(LaneWaveState& state, InitWave& me, const Wave& wave);
  void wave_end(const Wave& wave);

  // Hooks around an instruction, called in addition to the lane observer's.
  // `region`: all launched lanes are within its requested bytes. Null: unknown.
  GFXGRAPH_INLINE void access(LaneWaveState& state, InitWave& me, const Wave& wave,
                              const Inst& inst, const emulator::MemoryEvent& event, uint32_t lanes,
                              const emulator::RegionCacheEntry* region);
  // Whether all operands of an access to this region are defined, and the whole region is written.
  GFXGRAPH_INLINE bool row_is_written(const LaneWaveState& state, const Inst& inst,
                                      const emulator::RegionCacheEntry& region);
  // Of an access of the instruction within requested memory or LDS: nothing is undefined.
  GFXGRAPH_INLINE bool span_is_written(const LaneWaveState& state, InitWave& me, const Wave& wave,
                                       const Inst& inst, const emulator::AccessSpan& span);
  void scalar_load(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                   const emulator::ScalarEvent& event);
  // Call after an instruction with InitWave::pending.
  static void finish_load(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst);
  // The instruction's result is undefined in an active lane: whether it only moved its source.
  static void undefined_result(LaneWaveState& state, InitWave& me, const Wave& wave,
                               const Inst& inst, const emulator::InstOperands& operands);
  void branch(LaneWaveState& state, const Wave& wave, const Inst& inst);
  static void before_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave,
                             const Inst& inst);
  void after_bitwise(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst);
  // EXEC was written with a partly undefined value.
  void exec_written(LaneWaveState& state, const Wave& wave, const Inst& inst);

  // Memory at this address is copied to the host by this event of the trace. Whether a finding
  // was added.
  bool read_by_host(uint64_t launch, uint64_t trace_event, uint64_t address, uint64_t bytes);

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
  // The lanes for which an image store writes a texel from defined registers.
  static uint32_t defined_texels(const LaneWaveState& state, const Wave& wave, const Inst& inst);
  void load(InitWave& me, const emulator::MemoryEvent& event, uint32_t lanes);
  // A load whose results go to LDS.
  void load_to_lds(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
                   const emulator::MemoryEvent& event, uint32_t lanes);
  // If any dword of a texel is unwritten, all results of the instruction are undefined.
  void load_texels(InitWave& me, const Inst& inst, const emulator::MemoryEvent& event,
                   uint32_t lanes);
  void store(LaneWaveState& state, InitWave& me, const Wave& wave, const Inst& inst,
             const emulator::MemoryEvent& event, uint32_t lanes);
  void report(LaneWaveState& state, const Wave& wave, const Inst& inst, FindingClass found,
              uint32_t lanes, const char* detail);

  Sites& sites_;
  InitMemory memory_;
  uint32_t kernel_ = 0;
  uint64_t trace_event_ = 0;
  std::unordered_map<const emulator::Workgroup*, InitWave::Lds> lds_;
};

}  // namespace gfxgraph::check
