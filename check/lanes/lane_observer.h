// Observes waves. Tracks which register lanes are defined and which lanes the last write to a
// register included, and checks the address of every launched lane, active or inactive.
//
// The shadow of a register is a word with one bit per lane. SGPRs are in the same array: all ones
// or zero, or a bit per lane if they hold a lane mask. A result is defined where all its sources
// are, which is an AND over words. Inline functions are always_inline, because they are compiled
// once per host instruction set and must not be merged.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "check/lanes/address_flow.h"
#include "check/lanes/shadow_rule.h"
#include "check/memory/device_heap.h"
#include "check/memory/freed_ranges.h"
#include "check/report/finding.h"
#include "check/report/sites.h"
#include "check/waits/wait_check.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

struct LaneWaveState {
  using Wave = emulator::Wave;
  // Index: operand code. 0..127: SGPRs, 128..255: constants (253: SCC), from 256: VGPRs.
  alignas(64) uint32_t defined[512];
  uint32_t written[256];  // lanes that the last write included
  uint32_t writer[256];   // low half of the pc of the last write
  uint64_t dispatch = 0;  // dispatch whose SGPR shadow `defined` has
  uint32_t launched = 0;
  uint64_t region_base = 0;  // the last accessed buffer (requested bytes)
  uint64_t region_size = 0;
  uint64_t dropped_lanes = 0;
  uint64_t empty_exec_loads = 0;
  EventPlace place;
  // Wave64: `pending` of the lower half collects the events of both halves of an instruction, so
  // that they are reported as one.
  LaneWaveState* lower = nullptr;  // set for an upper half
  const Wave* lower_wave = nullptr;
  std::vector<LaneEvent> pending;  // used by a lower half
  // One bit per dword of the wave's scratch: whether it was stored; empty: none was.
  std::vector<bool> scratch;
  uint32_t loaded_defined = ~0u;  // lanes whose bytes in the last scratch load had been stored
  // Code without optimisation keeps lane masks in lanes of VGPRs (v_writelane), and these in
  // scratch. Masks of which only some bits are defined: the lane counts as undefined, and which
  // bits are is here. An entry holds as long as the lane has this value.
  struct PartMask {
    uint32_t value = 0;
    uint32_t defined = 0;  // as the shadow of an SGPR
  };
  std::unordered_map<uint32_t, PartMask> part_masks;          // by operand code * 32 + lane
  std::unordered_map<uint64_t, PartMask> scratch_part_masks;  // by index in `scratch`
  // kCrossLane: set before the instruction, when its sources are what it reads.
  uint32_t exchange_written = 0, exchange_defined = 0;
  // initcheck; null: it does not run. By operand code, where a lane is undefined: it holds what
  // was never written, moved at most. No other instruction made a value of it.
  uint32_t* raw = nullptr;
  std::vector<bool> scratch_computed;  // as `scratch`: stored, undefined and not raw
  uint32_t loaded_computed = 0;        // lanes whose bytes in the last scratch load were that
  bool loads_scratch = false;          // the last instruction loads from scratch
};

// The shadow of an access's address registers.
struct AddressShadow {
  uint32_t undefined = 0;  // lanes
  uint32_t stale = 0;      // lanes that the last write did not include
  uint32_t writer = 0;
};

// The hostcall buffer (host_services.h). Waves and the host order their accesses to it by protocol.
inline constexpr uint64_t kHostCallAddress = uint64_t{0x2f0000000000};
inline constexpr uint64_t kHostCallBytes = uint64_t{16} << 20;

class LaneObserver {
 public:
  static constexpr bool kInstructions = true;
  static constexpr bool kMemory = true;
  static constexpr bool kLds = true;
  static constexpr bool kSuspectsOnly = true;
  static constexpr bool kOperands = true;
  using WaveState = LaneWaveState;
  using Inst = emulator::Inst;
  using Wave = emulator::Wave;

  struct Options {
    bool masked_lanes = true;
    bool literal = false;
    WaitCheck* waits = nullptr;          // may be null
    const FreedRanges* freed = nullptr;  // may be null; changes between dispatches only
    const DeviceHeap* heap = nullptr;    // may be null
  };
  // All pointers in `options`, and the other arguments, must outlive this. `of`: what the shadow is
  // for.
  LaneObserver(emulator::MemoryMap& memory, Sites& sites, const Options& options,
               AddressFlow::Of of = AddressFlow::Of::kAddresses)
      : memory_(memory), sites_(sites), options_(options), of_(of) {}

  // Analyses a kernel's code, so that instructions that cannot affect findings are not observed.
  // Optional. Call it for all kernels before the first dispatch; their code must remain loaded.
  // Of one with more than `most_instructions`, all are observed.
  void add_kernel(uint64_t kernel_object, size_t most_instructions = SIZE_MAX);
  // Host memory that the analyses take, about.
  uint64_t kept_bytes() const { return flow_.kept_bytes(); }
  // Call before each dispatch, on the thread that calls Engine::run.
  void next_launch(uint64_t launch, uint32_t kernel) {
    launch_ = launch;
    kernel_ = kernel;
  }
  uint32_t kernel() const { return kernel_; }
  // Number of lanes that buffer range checks dropped since the last call.
  uint64_t take_dropped_lanes() { return dropped_lanes_.exchange(0); }
  uint64_t empty_exec_loads() const { return empty_exec_loads_; }

  // ---- hooks (emulator/engine/observer.h) ----
  void decoded(const Inst& inst, emulator::InstOperands& operands);
  void dispatch_begin(const emulator::DispatchInfo& info);
  void dispatch_end();
  void wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info);
  void wave_end(WaveState& state, const Wave& wave);
  static constexpr unsigned kHookKinds = kShadowRules;
  static unsigned hook_kind(const emulator::InstOperands& operands) {
    return operands.user >> kRuleShift;
  }
  // Does before the instruction all that before() and after() would do. False, without effect:
  // these are needed.
  template <unsigned kRule>
  static constexpr bool may_be_done_first() {
    constexpr auto rule = static_cast<ShadowRule>(kRule);
    return rule == ShadowRule::kVectorOne || rule == ShadowRule::kMixedOne ||
           rule == ShadowRule::kCrossLane || rule == ShadowRule::kRun;
  }
  template <unsigned kRule>
  GFXGRAPH_INLINE bool done_first(WaveState& state, const Wave& wave, const Inst& inst) const;
  template <unsigned kRule>
  GFXGRAPH_INLINE void before(WaveState& state, const Wave& wave, const Inst& inst);
  template <unsigned kRule>
  GFXGRAPH_INLINE void after(WaveState& state, const Wave& wave, const Inst& inst);
  GFXGRAPH_INLINE uint32_t memory(WaveState& state, const Wave& wave, const Inst& inst,
                                  const emulator::MemoryEvent& event);
  // A scalar load with a defined address, in a wave with active lanes.
  GFXGRAPH_INLINE static bool is_ordinary(const WaveState& state, const Wave& wave,
                                          const Inst& inst);
  GFXGRAPH_INLINE bool scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                                   const emulator::ScalarEvent& event);
  // The rare rules, compiled once.
  static void after_rare(WaveState& state, const Wave& wave, const Inst& inst,
                         const emulator::InstOperands& operands, ShadowRule rule);
  // A run whose sources are not all defined.
  static void take_apart(WaveState& state, const Wave& wave, const ShadowRun& run);
  // Applies the first `count` steps of a run, one by one.
  static void take_step(WaveState& state, const Wave& wave, const ShadowStep& step);
  static void take_steps(WaveState& state, const Wave& wave, const ShadowRun& run, size_t count);

  static void before_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);
  void after_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);

 private:
  void before_exchange(WaveState& state, const Wave& wave, const Inst& inst);
  void before_one_lane(WaveState& state, const Wave& wave, const Inst& inst);
  void report_exchange(WaveState& state, const Wave& wave, const Inst& inst, uint32_t lanes,
                       const char* which);
  static void after_relative(WaveState& state, const Wave& wave, const Inst& inst);
  uint32_t judge_active(WaveState& state, const Wave& wave, const Inst& inst,
                        const emulator::MemoryEvent& event, uint32_t active);
  // The class of an address outside all live buffers.
  FindingClass unmapped_finding(uint64_t address, const char*& address_class) const;
  // The buffer that `pointer` is certain to point to; null: unknown.
  const emulator::Region* pointed_to(const Wave& wave, uint64_t pointer) const;
  void judge_masked(WaveState& state, const Wave& wave, const Inst& inst,
                    const emulator::MemoryEvent& event, uint32_t masked);
  bool judge_scalar(WaveState& state, const Wave& wave, const Inst& inst,
                    const emulator::ScalarEvent& event);
  // Each returns the lanes that the emulator is to execute.
  uint32_t judge_lds(WaveState& state, const Wave& wave, const Inst& inst,
                     const emulator::MemoryEvent& event);
  uint32_t judge_scratch(WaveState& state, const Wave& wave, const Inst& inst,
                         const emulator::MemoryEvent& event);
  // The lanes of `active` whose atomic is aligned to its size.
  uint32_t judge_alignment(WaveState& state, const Wave& wave, const Inst& inst,
                           const emulator::MemoryEvent& event, uint32_t active);
  static void watch_scratch(WaveState& state, const Wave& wave, const Inst& inst,
                            const emulator::MemoryEvent& event);
  // The class of an access to the device heap; empty if it is within a live block.
  std::optional<FindingClass> heap_finding(uint64_t address, uint64_t bytes,
                                           const char*& address_class) const;
  AddressShadow address_shadow(WaveState& state, const Wave& wave, const Inst& inst) const;
  // `found` has the class, the lanes of this half, the address class, and all that its finding
  // class needs in addition.
  void report(WaveState& state, const Wave& wave, const Inst& inst,
              const emulator::MemoryEvent& event, LaneEvent found);
  void flush(WaveState& low);

 protected:
  // Bit position of the rule in InstOperands::user, above packed_sources() or the index of a run.
  static constexpr unsigned kRuleShift = 27;
  static constexpr uint32_t kUserMask = (1u << kRuleShift) - 1;
  const ShadowRun& run_of(const Inst& inst) const {
    return flow_.run(emulator::operands_of(inst).user & kUserMask);
  }
  // Whether no source of a branch or bitwise scalar instruction can be undefined.
  bool sources_defined(uint64_t pc) const { return flow_.watch(pc).sources_defined; }

 private:
  // kCrossLane, kReadLane, kWriteLane: the result needs no shadow, only lanes that it misses are
  // looked for.
  static constexpr uint32_t kOnlyMissed = 1;
  // While all lanes of the wave are active, none is missed; and each is written.
  static constexpr uint32_t kMissesNone = 2;
  static constexpr uint32_t kWritesAll = 4;
  static constexpr uint32_t kAddressDefined = 1;  // SMEM: no address source can be undefined

  emulator::MemoryMap& memory_;
  Sites& sites_;
  Options options_;
  const AddressFlow::Of of_;
  uint64_t launch_ = 0;
  uint32_t kernel_ = 0;
  std::array<uint32_t, 3> groups_ = {1, 1, 1};
  std::shared_ptr<const emulator::RegionTable> regions_;
  AddressFlow flow_;
  // Initial shadow of SGPRs and constants in waves of the running kernel.
  std::array<uint32_t, 256> scalars_ = {};
  std::vector<uint16_t> changing_;  // operand codes whose shadow a wave may change
  std::vector<AddressFlow::Begun> begun_;
  uint64_t dispatches_ = 0;
  uint64_t scratch_lane_bytes_ = 0;
  std::atomic<uint64_t> dropped_lanes_{0};
  std::atomic<uint64_t> empty_exec_loads_{0};
};

}  // namespace gfxgraph::check
