// The state of one running wave. Plain data: shared by all host instruction-set clones, so every
// function here is always inlined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulator/decode/inst.h"
#include "emulator/engine/fault.h"
#include "emulator/memory/memory_map.h"

#define GFXGRAPH_INLINE [[gnu::always_inline]] inline

namespace gfxgraph::emulator {

inline constexpr unsigned kLanes = 32;

// MODE of ROCm's kernels: round to nearest even, all denormals, DX10_CLAMP, IEEE. Handlers are for
// this mode unless they are bound for any (Inst::kAnyMode). Bits that programs may change:
// rounding, denormals, DX10_CLAMP, IEEE.
inline constexpr uint32_t kDefaultMode = 0x3f0;
inline constexpr uint32_t kModeBits = 0x3ff;

// One VGPR of a wave32, or half of a wave64's.
struct alignas(64) Row {
  uint32_t lane[kLanes];
};

class CodeCache;
struct Workgroup;
struct DispatchContext;

// Why the run loop was left with a null next instruction.
enum class WaveExit : uint8_t {
  kSlice,    // the time slice is over (set by the loop)
  kYield,    // s_sleep and the like: others may run
  kBarrier,  // waits at s_barrier
  kEnded,    // s_endpgm
  kFault,    // `fault` is filled
  kClock,    // the instruction needs Wave::clock_now and runs again at once (run loop only)
};

// A host range that recent accesses of one instruction hit: device address a lives at host + (a -
// base).
struct RegionCacheEntry {
  uint64_t base = 0;
  uint64_t size = 0;  // 0: empty
  std::byte* host = nullptr;
  uint64_t writable_size = 0;   // size, or 0 for read-only regions
  uint64_t last_offset = 0;     // of the last row that was read, to guess the next one
  uint64_t requested_size = 0;  // what the program asked for of it; 0 for the wave's scratch
};

// What a handler knows of a fault; the engine completes it (kernel, workgroup, source line).
struct PendingFault {
  FaultKind kind = FaultKind::kIllegal;
  int32_t lane = -1;
  uint64_t address = 0;
  uint32_t access_bytes = 0;
  bool write = false;
  const char* detail = nullptr;  // static text, may be null
  bool jump = false;             // kIllegal: `address` is where it would have gone
};

struct alignas(64) Wave {
  static constexpr unsigned kRegionCacheEntries = 32;

  // ---- architectural state ----
  // s0..s105, VCC, TTMP, M0, null (always 0), EXEC; indexed by operand code. The last entries keep
  // pair and quad reads near the end inside the array.
  uint32_t sgpr[136];
  uint32_t scc;              // 0 or 1
  uint32_t mode;             // hwreg MODE
  Row exec_mask;             // all ones in active lanes, 0 elsewhere
  uint32_t flat_scratch[2];  // hwreg FLAT_SCR_LO/HI: private base of this wave, device address
  uint32_t trap_status;      // hwreg TRAPSTS
  uint64_t scratch_base;     // device address of this wave's scratch
  uint64_t scratch_bytes;    // of the whole wave
  std::byte* scratch;
  uint32_t scratch_row;  // bytes of a dword of all lanes: 128, wave64 256
  uint32_t hw_id;        // a deterministic value for hwreg HW_ID

  // ---- where it runs ----
  uint32_t launched_lanes;  // lanes that are work items
  uint32_t first_lane;      // number of lane 0: 32 in the upper half of a wave64, else 0
  Wave* upper;              // lanes 32..63 of a wave64 (wave64.h); null in a wave32
  WaveExit exit;
  const Inst* resume;  // valid when the loop was left (for kFault: the instruction at fault)
  Workgroup* group;
  DispatchContext* dispatch;
  CodeCache* code_cache;  // of this wave size and mode
  void* observer;         // of the compiled-in type
  void* observer_state;   // its WaveState
  uint64_t clock;         // position on the device clock (clock.h) before the present slice
  uint64_t clock_now;     // at the present instruction; 0: not known, see kClock
  uint64_t slice;         // size of the present slice, in instructions
  uint32_t index;         // in the workgroup
  bool read_clock;        // since its last s_sleep
  uint32_t gws_phase;     // of the barrier that the wave waits at
  bool gws_waits;         // at ds_gws_barrier
  PendingFault fault;
  RegionCacheEntry regions[kRegionCacheEntries];

  // ---- registers ----
  // v0..v255. The last entries keep wide accesses near the end inside the array.
  Row vgpr[260];

  // Of these 32 lanes.
  GFXGRAPH_INLINE uint32_t exec() const { return sgpr[operand::kExecLo]; }
  GFXGRAPH_INLINE void set_exec(uint32_t value) {
    sgpr[operand::kExecLo] = value;
    expand_mask(value, exec_mask);
  }
  // All ones where the bit is set.
  GFXGRAPH_INLINE static void expand_mask(uint32_t bits, Row& row) {
    for (unsigned l = 0; l < kLanes; ++l) row.lane[l] = 0u - (bits >> l & 1u);
  }

  // Of all lanes.
  bool exec_is_zero() const {
    return exec() == 0 && (upper == nullptr || sgpr[operand::kExecHi] == 0);
  }
  bool vcc_is_zero() const {
    return sgpr[operand::kVccLo] == 0 && (upper == nullptr || sgpr[operand::kVccHi] == 0);
  }

  GFXGRAPH_INLINE const Row& v(uint16_t code) const { return vgpr[code - operand::kVgpr0]; }
  GFXGRAPH_INLINE Row& v(uint16_t code) { return vgpr[code - operand::kVgpr0]; }

  // ---- scalar operands: SGPR, constant or special; never a VGPR ----
  GFXGRAPH_INLINE uint32_t read32(const Inst* inst, int n) const {
    const uint16_t code = inst->src[n];
    if (operand::is_sgpr(code)) return sgpr[code];
    if (inst->flags & Inst::kHasSpecialSource) [[unlikely]]
      return static_cast<uint32_t>(special(inst, n, false));
    return static_cast<uint32_t>(inst->k[n]);
  }
  GFXGRAPH_INLINE uint64_t read64(const Inst* inst, int n) const {
    const uint16_t code = inst->src[n];
    if (operand::is_sgpr(code)) return pair(code);
    if (inst->flags & Inst::kHasSpecialSource) [[unlikely]]
      return special(inst, n, true);
    return inst->k[n];
  }
  GFXGRAPH_INLINE uint64_t pair(uint16_t code) const {
    uint64_t value;
    std::memcpy(&value, &sgpr[code], 8);
    return value;
  }
  // `code` is an SGPR code. Writes to null vanish.
  GFXGRAPH_INLINE void write32(uint16_t code, uint32_t value) {
    if (code >= operand::kNull) {
      if (code == operand::kExecLo) return set_exec(value);
      return write_special(code, value);
    }
    sgpr[code] = value;
  }
  GFXGRAPH_INLINE void write64(uint16_t code, uint64_t value) {
    if (code + 1 >= operand::kNull) [[unlikely]] {
      write_special(code, static_cast<uint32_t>(value));
      if (code != operand::kNull)
        write_special(static_cast<uint16_t>(code + 1), static_cast<uint32_t>(value >> 32));
      return;
    }
    std::memcpy(&sgpr[code], &value, 8);
  }

  // Null return for a handler that faults; `resume` is the instruction itself.
  GFXGRAPH_INLINE const Inst* raise(const Inst* inst, const PendingFault& f) {
    fault = f;
    resume = inst;
    exit = WaveExit::kFault;
    return nullptr;
  }
  // An instruction that is known but in a form that is not supported ("movrel with ...": static
  // text).
  GFXGRAPH_INLINE const Inst* unsupported(const Inst* inst, const char* detail) {
    return raise(inst, PendingFault{FaultKind::kUnsupported, -1, 0, 0, false, detail});
  }

 private:
  // Not inlined, compiled once (wave.cpp): apertures, VCCZ, EXECZ, SCC; null and EXEC.
  uint64_t special(const Inst* inst, int n, bool wide) const;
  void write_special(uint16_t code, uint32_t value);
};

}  // namespace gfxgraph::emulator
