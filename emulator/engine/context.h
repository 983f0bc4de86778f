// State that running waves share: the dispatch, the workgroup, and the translation of device
// addresses to host bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "emulator/engine/clock.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {

class CodeCache;
class Gws;

// Global wave sync, as far as it is there.
constexpr bool is_gws(Op op) { return op == Op::ds_gws_init || op == Op::ds_gws_barrier; }

// Read-only while the dispatch runs, but for `messages`.
struct DispatchContext {
  const Dispatch* dispatch = nullptr;
  MemoryMap* memory = nullptr;
  CodeCache* code = nullptr;           // for waves in the default mode
  CodeCache* code_any_mode = nullptr;  // for others
  Gws* gws = nullptr;
  const EngineOptions* options = nullptr;
  uint64_t address_mask = ~uint64_t{0};  // clears EngineOptions::ignored_address_bits
  uint32_t group_aperture_hi = 0;
  uint32_t private_aperture_hi = 0;
  std::atomic<uint32_t> messages{0};  // sent to the host by its waves
};

struct Workgroup {
  std::byte* lds = nullptr;    // 64 KB and a little more, so that fixed-size copies may overrun
  uint32_t lds_bytes = 0;      // that the workgroup may use
  uint32_t lds_requested = 0;  // that the dispatch asked for
  uint32_t wave_count = 0;
  std::array<uint32_t, 3> id = {0, 0, 0};
};

inline constexpr uint32_t kMaxLdsBytes = 65536;
// Scratch lives at these device addresses; every wave has its own bytes behind them.
inline constexpr uint64_t kScratchWindow = uint64_t{0x3e0000000000};

// Finds the host bytes of [address, address + bytes) and puts the range that holds them into
// `entry`: a memory map region or the wave's scratch. Writes need a writable range. Null when there
// is none. Cold.
const std::byte* find_range(Wave& wave, RegionCacheEntry& entry, uint64_t address, uint64_t bytes,
                            bool write);

// Instructions with effects outside the wave, compiled once (scalar_system.cpp, gws.cpp).
const Inst* run_getreg(Wave& wave, const Inst* inst);
const Inst* run_setreg(Wave& wave, const Inst* inst);
const Inst* run_set_float_mode(Wave& wave, const Inst* inst);  // s_round_mode, s_denorm_mode
const Inst* run_sendmsg(Wave& wave, const Inst* inst);
const Inst* run_subvector_begin(Wave& wave, const Inst* inst);
const Inst* run_subvector_end(Wave& wave, const Inst* inst);
const Inst* run_gws(Wave& wave, const Inst* inst);  // ds_gws_init, ds_gws_barrier
// AMDGPUUsage, "Non-Kernel Functions": s[30:31] hold the return address.
inline constexpr uint16_t kReturnAddress = 30;
// Performs EngineOptions::host_functions in place of the function that begins here, and returns.
const Inst* run_host_function(Wave& wave, const Inst* inst);
const Inst* jump_to(Wave& wave, const Inst* inst, uint64_t pc);
// A direct branch that leaves the code range that it stands in.
const Inst* branch_out(Wave& wave, const Inst* inst);
// False: leaves the run loop, which runs the instruction again with Wave::clock_now.
bool clock_is_known(Wave& wave, const Inst* inst);
// The device clock in shader clocks; uses clock_now up.
uint64_t read_clock(Wave& wave);

}  // namespace gfxgraph::emulator
