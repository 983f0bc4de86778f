// Observers: code that observes running waves. The engine emits events, an observer classifies
// them; the compiled-in observer is a template parameter of the run loop and of the memory handlers
// (emulator/isa/*.inl), so that the plain run pays nothing.
//
// To add an observer: write a class like NullObserver below with the constants set and the hooks
// defined, and one source file that includes "emulator/isa/backend.inl" and says
//   GFXGRAPH_DEFINE_BACKEND(MyObserver, my_backend)
// compiled per host instruction set (CMake: gfxgraph_isa_sources(target file.cpp)); then
//   GFXGRAPH_DECLARE_BACKENDS(my_backend);                                 (backend.h)
//   create_engine(memory, options, select_backend(GFXGRAPH_BACKEND_SET(my_backend)), &my_observer)
//
// Hooks per instruction cost time on each instruction: decoded() can do without them for the one it
// is told of (InstOperands::hooked), which then runs as fast as without an observer.
//
// One observer object serves all worker threads: hooks of different waves may run at the same time,
// those of one wave do not. Per-wave state goes into WaveState: the engine keeps one per resident
// wave of 32 lanes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emulator/decode/inst.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {

enum class Space : uint8_t { kGlobal, kLds, kScratch };
enum class AccessKind : uint8_t { kLoad, kStore, kAtomic };

// One access of a vector memory instruction: an event per instruction, or two for DS
// read2/write2/xchg2. Emitted before anything is read or written.
struct MemoryEvent {
  Space space = Space::kGlobal;
  AccessKind kind = AccessKind::kLoad;
  uint8_t access_bytes = 0;  // per lane, from `address` on
  // Of all 32 lanes, active or not, computed from what the registers hold. Global and scratch:
  // device addresses (ignored bits not cleared; scratch: of the lane's first byte, swizzle applied:
  // further dwords are 128 bytes apart). LDS: byte offsets.
  const uint64_t* address = nullptr;
  uint32_t exec = 0;
  // Lanes that an instruction in this event does not address in `space`: FLAT lanes in another
  // aperture (each aperture with active lanes gets its own event; `exec` holds only its lanes).
  uint32_t other_space = 0;
  // The 64-bit pointer that all lanes share: SADDR, or the base of a buffer; 0: there is none.
  uint64_t pointer = 0;
  // MUBUF: lanes whose access the buffer range check lets through, active or not; ~0 elsewhere.
  uint32_t in_range = ~0u;
  // MUBUF, for reports: number of records, soffset.
  uint32_t srd_records = 0;
  uint32_t soffset = 0;
};

// An access of the active lanes as its ends tell it; no MemoryEvent yet.
struct AccessSpan {
  Space space = Space::kGlobal;
  AccessKind kind = AccessKind::kLoad;
  uint8_t access_bytes = 0;  // per lane
  uint64_t first = 0;        // the lowest address, as in MemoryEvent
  uint64_t bytes = 0;        // from there to the end of the highest access
};

// SMEM load: scalar, ignores EXEC.
struct ScalarEvent {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool in_range = true;    // s_buffer_load: inside the buffer, or partly
  bool mapped = false;     // all bytes lie in one region of the memory map
  bool requested = false;  // and in what the program requested of it
};

// ---- operands of an instruction ----
// In a form for generic shadow state.

// VCC, EXEC, SCC and M0 appear as operands too where they are read or written implicitly; EXEC as
// the lane mask of vector instructions does not.
struct OperandRef {
  uint16_t code = 0;  // SGPR (0..127), kScc, or VGPR (256..511)
  uint8_t dwords = 0;
  uint8_t role = 0;
  static constexpr uint8_t kAddress = 1;  // vaddr, saddr, SRD, soffset, sbase, DS address
  static constexpr uint8_t kPartial =
      2;  // destination: keeps old bits or lanes (d16, SDWA, DPP, writelane)
};
struct InstOperands {
  uint8_t source_count = 0;
  uint8_t dest_count = 0;
  uint8_t access_bytes = 0;
  bool hooked = true;  // decoded() may clear it: before() and after() are not called then
  OperandRef source[8] = {};
  OperandRef dest[4] = {};
  uint32_t user = 0;          // the observer's own, set in its decoded() hook
  Handler handler = nullptr;  // of a hooked instruction: set by the code cache
};
static_assert(sizeof(InstOperands) == 64);
void describe_operands(const Inst& inst, InstOperands& out) noexcept;

// The code cache keeps operand lists next to the Insts when the observer asks for them: 1028 slots
// further.
inline constexpr size_t kChunkInsts = 1024;             // dwords of code per chunk
inline constexpr size_t kChunkSlots = kChunkInsts + 4;  // and sentinels
GFXGRAPH_INLINE const InstOperands& operands_of(const Inst& inst) {
  return *reinterpret_cast<const InstOperands*>(&inst + kChunkSlots);
}

// ---- beginnings ---------------------------------------------------------------------------------

struct DispatchInfo {
  const Dispatch* dispatch = nullptr;
  const codeobj::KernelDescriptor* descriptor = nullptr;
  std::string_view kernel;  // "" when unknown
  uint64_t scratch_bytes_per_lane = 0;
};
// What a wave starts with. Other SGPRs and VGPRs are undefined.
struct WaveInfo {
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;
  uint32_t launched_lanes = 0;
  uint32_t initialised_sgprs = 0;  // s0..s(n-1); EXEC, FLAT_SCRATCH, MODE and trap registers too
  uint32_t initialised_vgprs = 0;  // v0..v(n-1)
  uint32_t vgprs = 0;              // that the kernel has
};

struct HalfPlan;  // wave64.h

struct NullObserver {
  static constexpr bool kInstructions = false;  // before() and after()
  static constexpr bool kMemory = false;        // memory() and scalar_load()
  static constexpr bool kLds = false;           // memory() for LDS too
  // memory() may be left out for an access to LDS within what the dispatch requested, and for one
  // to global memory by which all launched lanes, active or not, stay within what the program
  // requested of one region, into which SADDR points, too; and scalar_load() for one within such
  // memory that is_ordinary() lets through:
  //   static bool is_ordinary(const WaveState&, const Wave&, const Inst&)
  // It is not left out for atomics that are not aligned to their size.
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = false;  // operands_of() is valid
  struct WaveState {};
  // A wave64 is two waves of 32 lanes to an observer (Wave::first_lane), each with a WaveState;
  // scalar instructions are those of the lower one. Its vector instructions run on both, with
  // scalar operands of the upper one in other registers: an observer with a shadow of registers may
  // define
  //   static void before_halves(WaveState& low, WaveState& high, const HalfPlan&)
  //   void after_halves(WaveState& low, WaveState& high, const HalfPlan&)     (wave64.h)
  // and move its shadow as HalfPlan moves the values.
  // Hooks, in the form that an active observer has them:
  void decoded(const Inst&, InstOperands&) {}  // once per decoded instruction, under a lock
  void dispatch_begin(const DispatchInfo&) {}
  void dispatch_end() {}
  void wave_begin(WaveState&, const Wave&, const WaveInfo&) {}
  void wave_end(WaveState&, const Wave&) {}
  void before(WaveState&, const Wave&, const Inst&) {}  // before the handler ran
  void after(WaveState&, const Wave&, const Inst&) {
  }  // after it; not for an instruction that faulted
  // Returns the lanes to perform, a subset of event.exec: dropped loads give 0, dropped stores
  // vanish. So an observer can report an access and let the kernel go on.
  uint32_t memory(WaveState&, const Wave&, const Inst&, const MemoryEvent& event) {
    return event.exec;
  }
  // Optional: of a load or store of all 32 lanes, a dword each and contiguous from `address`,
  // within what the program requested of one region, into which SADDR points, too. Returns false if
  // memory() is to be called for it. The region is the instruction's entry in Wave::regions.
  //   bool row(WaveState&, const Wave&, const Inst&, AccessKind, uint64_t address)
  // Optional, of what kSuspectsOnly would leave out, where not all lanes are a row: returns false
  // if memory() is to be called. `wants_spans`: whether it may return true at all. The span may
  // include launched lanes that are not active.
  //   bool wants_spans() const
  //   bool span(WaveState&, const Wave&, const Inst&, const AccessSpan&)
  // Optional: of a load from memory that the program requested. Returns false if scalar_load() is
  // to be called.
  //   bool scalar_span(WaveState&, const Wave&, const Inst&, uint64_t address, uint32_t bytes)
  // Optional: after an S_LOAD of kDwords, if wants_scalars(); also if the instruction has no hook.
  //   template <unsigned kDwords> static bool wants_scalars(const WaveState&, const Inst&)
  //   template <unsigned kDwords> void scalar_loaded(WaveState&, const Wave&, const Inst&)
  // Returns whether to perform the load; else 0 is loaded.
  bool scalar_load(WaveState&, const Wave&, const Inst&, const ScalarEvent&) { return true; }
};

}  // namespace gfxgraph::emulator
