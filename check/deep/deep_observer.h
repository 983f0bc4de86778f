// The lane observer plus the tools that observe every access (racecheck, initcheck). Slower, so it
// is compiled into a separate backend. For engines with one thread.
#pragma once

#include "check/init/init_check.h"
#include "check/lanes/lane_observer.h"
#include "check/race/race_check.h"

namespace gfxgraph::check {

struct DeepWaveState : LaneWaveState {
  RaceWave race;
  InitWave init;
};

class DeepObserver : public LaneObserver {
 public:
  static constexpr bool kSuspectsOnly = false;
  using WaveState = DeepWaveState;

  // `race` and `init` may be null. All must outlive this.
  DeepObserver(emulator::MemoryMap& memory, Sites& sites, const Options& options, RaceCheck* race,
               InitCheck* init)
      : LaneObserver(memory, sites, options,
                     init == nullptr ? AddressFlow::Of::kAddresses : AddressFlow::Of::kValues),
        race_(race),
        init_(init) {}

  // ---- hooks (emulator/engine/observer.h) ----
  void decoded(const Inst& inst, emulator::InstOperands& operands);
  void dispatch_begin(const emulator::DispatchInfo& info);
  void dispatch_end();
  void wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info);
  void wave_end(WaveState& state, const Wave& wave);
  // The lane observer's kinds, and instructions that order waves: alone, or at the end of a run.
  static constexpr unsigned kOrders = kShadowRules;
  static constexpr unsigned kOrdersAfterRun = kShadowRules + 1;
  static constexpr unsigned kBranch = kShadowRules + 2;   // conditional branches
  static constexpr unsigned kBitwise = kShadowRules + 3;  // bitwise scalar instructions
  static constexpr unsigned kHookKinds = kShadowRules + 4;
  static_assert(kHookKinds <= 1u << (32 - kRuleShift));
  template <unsigned kKind>
  static constexpr bool may_be_done_first() {
    return kKind < kShadowRules && LaneObserver::may_be_done_first<kKind>();
  }
  template <unsigned kKind>
  GFXGRAPH_INLINE bool done_first(WaveState& state, const Wave& wave, const Inst& inst) const;
  template <unsigned kKind>
  GFXGRAPH_INLINE void before(WaveState& state, const Wave& wave, const Inst& inst);
  template <unsigned kKind>
  GFXGRAPH_INLINE void after(WaveState& state, const Wave& wave, const Inst& inst);
  GFXGRAPH_INLINE uint32_t memory(WaveState& state, const Wave& wave, const Inst& inst,
                                  const emulator::MemoryEvent& event);
  // The body of memory(), compiled once per host instruction set instead of once per handler.
  GFXGRAPH_INLINE uint32_t look_at(WaveState& state, const Wave& wave, const Inst& inst,
                                   const emulator::MemoryEvent& event);
  GFXGRAPH_INLINE bool row(WaveState& state, const Wave& wave, const Inst& inst,
                           emulator::AccessKind kind, uint64_t address);
  GFXGRAPH_INLINE bool look_at_row(WaveState& state, const Wave& wave, const Inst& inst,
                                   emulator::AccessKind kind, uint64_t address);
  // racecheck needs every lane's address.
  bool wants_spans() const { return race_ == nullptr; }
  GFXGRAPH_INLINE bool span(WaveState& state, const Wave& wave, const Inst& inst,
                            const emulator::AccessSpan& span);
  GFXGRAPH_INLINE bool look_at_span(WaveState& state, const Wave& wave, const Inst& inst,
                                    const emulator::AccessSpan& span);
  GFXGRAPH_INLINE bool scalar_span(WaveState& state, const Wave& wave, const Inst& inst,
                                   uint64_t address, uint32_t bytes);
  GFXGRAPH_INLINE bool scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                                   const emulator::ScalarEvent& event);

 private:
  // Whether the active lanes of the instruction's result are defined.
  GFXGRAPH_INLINE static bool result_defined(const WaveState& state, const Wave& wave,
                                             const Inst& inst) {
    if (inst.dst >= 512) return true;
    const uint32_t defined = state.defined[inst.dst];
    return inst.dst < emulator::operand::kVgpr0 ? defined == ~0u : (defined | ~wave.exec()) == ~0u;
  }
  GFXGRAPH_INLINE void finish_run(WaveState& state, const Wave& wave, const Inst& inst);
  GFXGRAPH_INLINE bool run_done_first(WaveState& state, const Wave& wave, const Inst& inst) const;
  // A run whose sources are not all defined, instruction by instruction.
  static void take_run(WaveState& state, const Wave& wave, const ShadowRun& run);
  static DeepWaveState& lower_of(WaveState& state) {
    return state.lower == nullptr ? state : *static_cast<DeepWaveState*>(state.lower);
  }
  RaceCheck* const race_;
  InitCheck* const init_;
};

}  // namespace gfxgraph::check
