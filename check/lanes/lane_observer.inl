// The hooks that run for every instruction. Included by lane_backend.cpp, which is compiled per
// host instruction set.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <bit>

#include "check/lanes/lane_observer.h"
#include "emulator/decode/operand_uses.h"

namespace gfxgraph::check {

namespace shadow {

inline constexpr unsigned kFirstVector = emulator::operand::kVgpr0;

// In a loop of one to four rounds: the compiler would unroll it and make vector code with gathers
// and scatters, whose preparation takes longer.
GFXGRAPH_INLINE void few_rounds(unsigned& counter) { asm("" : "+r"(counter)); }

GFXGRAPH_INLINE uint32_t sources(const LaneWaveState& state,
                                 const emulator::InstOperands& operands) {
  uint32_t defined = ~0u;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const emulator::OperandRef& source = operands.source[n];
    for (unsigned d = 0; d < source.dwords; ++d) {
      defined &= state.defined[(source.code + d) & 511];
      few_rounds(d);
    }
  }
  return defined;
}

GFXGRAPH_INLINE void set_register(LaneWaveState& state, unsigned code, uint32_t exec,
                                  uint32_t defined, uint64_t pc) {
  uint32_t& shadow = state.defined[code & 511];
  shadow = (shadow & ~exec) | (defined & exec);
  state.written[code & 255] = exec;
  state.writer[code & 255] = static_cast<uint32_t>(pc);
}

GFXGRAPH_INLINE void set_dests(LaneWaveState& state, const emulator::InstOperands& operands,
                               uint32_t exec, uint32_t defined, uint64_t pc) {
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    const emulator::OperandRef& dest = operands.dest[n];
    for (unsigned d = 0; d < dest.dwords; ++d) {
      const unsigned code = dest.code + d;
      if (code >= kFirstVector) {
        set_register(state, code, exec, defined, pc);
      } else {
        state.defined[code] = defined | ~exec;  // a lane mask: bits of inactive lanes become 0
      }
    }
  }
}

GFXGRAPH_INLINE void set_scalars(LaneWaveState& state, const emulator::InstOperands& operands,
                                 uint32_t defined) {
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    const emulator::OperandRef& dest = operands.dest[n];
    for (unsigned d = 0; d < dest.dwords; ++d) state.defined[(dest.code + d) & 511] = defined;
  }
}

// A bit for each lane whose access leaves [base, base + size).
GFXGRAPH_INLINE uint32_t outside(const uint64_t* address, uint64_t base, uint64_t size,
                                 uint64_t bytes) {
  if (size < bytes) return ~0u;
  const uint64_t limit = size - bytes;
  uint64_t bits = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const uint64_t offset = address[l] - base;
    bits |= ((offset | (limit - offset)) >> 63) << l;  // negative, or more than the limit
  }
  return static_cast<uint32_t>(bits);
}

}  // namespace shadow

namespace shadow {

// The sources of a rule with has_packed_sources().
GFXGRAPH_INLINE uint32_t packed(const LaneWaveState& state,
                                const emulator::InstOperands& operands) {
  const uint32_t codes = operands.user;
  return state.defined[codes & 511] & state.defined[codes >> 9 & 511] &
         state.defined[codes >> 18 & 511];
}

// Brings the shadow up to date after `inst`.
template <ShadowRule rule>
GFXGRAPH_INLINE void apply(LaneWaveState& state, const emulator::Wave& wave,
                           const emulator::Inst& inst, const emulator::InstOperands& operands) {
  if constexpr (has_packed_sources(rule)) {
    const uint32_t defined = packed(state, operands);
    const uint32_t exec = wave.exec();
    set_register(state, inst.dst, exec, defined, inst.pc);
    if constexpr (rule == ShadowRule::kMixedOne)
      state.defined[operands.dest[0].code & 511] = defined | ~exec;
    return;
  }
  const auto of = [&](uint16_t code) { return code < 512 ? state.defined[code] : ~0u; };
  switch (rule) {
    case ShadowRule::kVector:
    case ShadowRule::kMixed:
    case ShadowRule::kLaneMask:
      set_dests(state, operands, wave.exec(), sources(state, operands), inst.pc);
      return;
    case ShadowRule::kScalar: set_scalars(state, operands, sources(state, operands)); return;
    case ShadowRule::kDefined: set_scalars(state, operands, ~0u); return;
    case ShadowRule::kSelect: {
      const uint16_t select = inst.src[2];
      const uint32_t bits = emulator::operand::is_sgpr(select) ? wave.sgpr[select] : 0;
      const uint32_t defined = ((bits & of(inst.src[1])) | (~bits & of(inst.src[0]))) & of(select);
      set_register(state, inst.dst, wave.exec(), defined, inst.pc);
      return;
    }
    case ShadowRule::kWide: {
      const uint32_t all = sources(state, operands);
      const uint32_t low = of(inst.src[0]) & of(inst.src[1]) & of(inst.src[2]);
      set_register(state, inst.dst, wave.exec(), low, inst.pc);
      set_register(state, inst.dst + 1u, wave.exec(), all, inst.pc);
      // The carry of a product whose high half nobody needs is not needed either.
      if (inst.sdst < 128) state.defined[inst.sdst] = all | ~wave.exec();
      return;
    }
    default: LaneObserver::after_rare(state, wave, inst, operands, rule); return;
  }
}

// False, and nothing is done: not all that the run begins with is defined.
GFXGRAPH_INLINE bool finish(LaneWaveState& state, const ShadowRun& run, uint32_t exec) {
  uint32_t defined = ~exec;
  unsigned n = 0;
  uint32_t vectors = ~0u;
  for (; n < run.vector_sources; ++n) {
    vectors &= state.defined[run.source[n]];
    few_rounds(n);
  }
  defined |= vectors;
  for (const unsigned end = n + run.scalar_sources; n < end; ++n) {
    defined &= state.defined[run.source[n]];
    few_rounds(n);
  }
  if (defined != ~0u || exec == 0) return false;
  for (n = 0; n < run.vector_dests; ++n) {
    set_register(state, run.dest[n], exec, ~0u, run.writer[n]);
    few_rounds(n);
  }
  for (const unsigned end = n + run.scalar_dests; n < end; ++n) {
    state.defined[run.dest[n]] = ~0u;
    few_rounds(n);
  }
  return true;
}

// The same where not all of it is: a lane of a VGPR is undefined where something that it depends on
// is. False, and nothing is done, where that is not so simple. `results`: nor where a result, but
// for its high half, is undefined in an active lane.
template <bool results>
GFXGRAPH_INLINE bool finish_by_lane(LaneWaveState& state, const ShadowRun& run, uint32_t exec) {
  if (!run.by_lane || exec == 0) return false;
  uint32_t defined[ShadowRun::kMost];
  const unsigned dests = run.vector_dests + run.scalar_dests;
  for (unsigned n = 0; n < dests; ++n) {
    defined[n] = ~0u;
    for (uint32_t rest = run.depends[n]; rest != 0; rest &= rest - 1) {
      const auto source = static_cast<unsigned>(std::countr_zero(rest));
      defined[n] &= state.defined[run.source[source]] | (source < run.vector_sources ? ~exec : 0);
    }
    if (n >= run.vector_dests && defined[n] != ~0u) return false;
  }
  const auto undefined = [&](unsigned n) { return (~defined[n] & exec) != 0; };
  if constexpr (results)
    for (unsigned n = 0; n < run.vector_dests; ++n)
      if (undefined(n) && (run.low_half[n] == ShadowRun::kMost || undefined(run.low_half[n])))
        return false;
  for (unsigned n = 0; n < dests; ++n) {
    if (n < run.vector_dests)
      set_register(state, run.dest[n], exec, defined[n], run.writer[n]);
    else
      state.defined[run.dest[n]] = ~0u;
  }
  return true;
}

// Of a permute in a wave whose lanes are all active: each names a lane of the wave.
GFXGRAPH_INLINE bool reaches_all_lanes(const emulator::Inst& inst, const emulator::Wave& wave) {
  const auto& address = wave.v(inst.src[0]).lane;
  constexpr uint32_t kBytes = 4 * emulator::kLanes;
  const uint32_t add = (static_cast<uint32_t>(inst.imm) & 0xffff) - 4 * wave.first_lane;
#if defined(__AVX512F__)
  // One test of all lanes: for the loop below, GCC folds the vector in halves.
  const __m512i sum = _mm512_set1_epi32(static_cast<int>(add));
  const __m512i any = _mm512_or_si512(_mm512_add_epi32(_mm512_load_si512(&address[0]), sum),
                                      _mm512_add_epi32(_mm512_load_si512(&address[16]), sum));
  return _mm512_test_epi32_mask(any, _mm512_set1_epi32(-static_cast<int>(kBytes))) == 0;
#else
  uint32_t any = 0;
  for (unsigned lane = 0; lane < emulator::kLanes; ++lane) any |= address[lane] + add;
  return any < kBytes;
#endif
}

}  // namespace shadow

template <unsigned kRule>
GFXGRAPH_INLINE bool LaneObserver::done_first(WaveState& state, const Wave& wave,
                                              const Inst& inst) const {
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  constexpr auto rule = static_cast<ShadowRule>(kRule);
  if constexpr (rule == ShadowRule::kCrossLane) {
    // The usual case of a wave whose lanes are all active.
    const bool named_by_lanes = (operands.user & kMissesNone) == 0;
    if (wave.exec() != ~0u || (named_by_lanes && !shadow::reaches_all_lanes(inst, wave)))
      return false;
    if ((operands.user & kOnlyMissed) != 0) return true;
    if (named_by_lanes) {
      if ((state.defined[inst.src[0] & 511] & state.defined[inst.src[1] & 511]) != ~0u)
        return false;
      shadow::set_register(state, operands.dest[0].code, ~0u, ~0u, inst.pc);
    } else {
      if ((operands.user & kWritesAll) == 0 || shadow::sources(state, operands) != ~0u)
        return false;
      shadow::set_dests(state, operands, ~0u, ~0u, inst.pc);
    }
    return true;
  } else {
    if constexpr (rule == ShadowRule::kRun) {
      const ShadowRun& run = run_of(inst);
      if (!shadow::finish(state, run, wave.exec())) [[unlikely]] {
        if (!run.by_lane) return false;  // its rules read values
        take_apart(state, wave, run);
      }
    } else {
      shadow::apply<rule>(state, wave, inst, operands);
    }
    return true;
  }
}

template <unsigned kRule>
GFXGRAPH_INLINE void LaneObserver::before(WaveState& state, const Wave& wave, const Inst& inst) {
  if constexpr (kRule == static_cast<unsigned>(ShadowRule::kCrossLane))
    before_exchange(state, wave, inst);
  if constexpr (kRule == static_cast<unsigned>(ShadowRule::kReadLane) ||
                kRule == static_cast<unsigned>(ShadowRule::kWriteLane))
    before_one_lane(state, wave, inst);
}

template <unsigned kRule>
GFXGRAPH_INLINE void LaneObserver::after(WaveState& state, const Wave& wave, const Inst& inst) {
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  constexpr auto rule = static_cast<ShadowRule>(kRule);
  if constexpr (rule == ShadowRule::kRun || rule == ShadowRule::kRunLate) {
    const ShadowRun& run = flow_.run(operands.user & kUserMask);
    if (!shadow::finish(state, run, wave.exec())) [[unlikely]]
      take_apart(state, wave, run);
  } else {
    if constexpr (rule == ShadowRule::kCrossLane || rule == ShadowRule::kReadLane ||
                  rule == ShadowRule::kWriteLane)
      if ((operands.user & kOnlyMissed) != 0) return;
    shadow::apply<rule>(state, wave, inst, operands);
  }
}

GFXGRAPH_INLINE uint32_t LaneObserver::memory(WaveState& state, const Wave& wave, const Inst& inst,
                                              const emulator::MemoryEvent& event) {
  if (event.space == emulator::Space::kScratch) return judge_scratch(state, wave, inst, event);
  if (event.space == emulator::Space::kLds) return judge_lds(state, wave, inst, event);
  const uint32_t looked_at = event.in_range & ~event.other_space;
  if (event.in_range != ~0u) {
    state.dropped_lanes += static_cast<uint64_t>(std::popcount(event.exec & ~event.in_range));
  }
  uint32_t active = event.exec & looked_at;
  uint32_t keep = event.exec;
  if (event.kind == emulator::AccessKind::kAtomic) {
    const uint32_t aligned = judge_alignment(state, wave, inst, event, active);
    keep &= ~(active & ~aligned);
    active = aligned;
  }
  const uint32_t masked = options_.masked_lanes ? state.launched & ~event.exec & looked_at : 0;
  const uint32_t outside =
      shadow::outside(event.address, state.region_base, state.region_size, event.access_bytes);
  const bool foreign = event.pointer != 0 && event.pointer - state.region_base >= state.region_size;
  if ((outside & (active | masked)) == 0 && !foreign) [[likely]]
    return keep;
  uint32_t suspects = masked & outside;
  if (active != 0 && ((outside & active) != 0 || foreign)) {
    keep &= judge_active(state, wave, inst, event, active);
    suspects = masked;
  }
  if (suspects != 0) judge_masked(state, wave, inst, event, suspects);
  return keep;
}

GFXGRAPH_INLINE bool LaneObserver::is_ordinary(const WaveState& state, const Wave& wave,
                                               const Inst& inst) {
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  if (wave.exec_is_zero()) return false;
  return (operands.user & kAddressDefined) != 0 || shadow::sources(state, operands) == ~0u;
}

GFXGRAPH_INLINE bool LaneObserver::scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                                               const emulator::ScalarEvent& event) {
  if (event.requested && is_ordinary(state, wave, inst)) [[likely]]
    return true;
  return judge_scalar(state, wave, inst, event);
}

}  // namespace gfxgraph::check
