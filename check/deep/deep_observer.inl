// The hooks of DeepObserver that run for every instruction. Included by deep_backend.cpp, which is
// compiled per host instruction set.
#pragma once

#include "check/deep/deep_observer.h"
#include "check/lanes/lane_observer.inl"

namespace gfxgraph::check {

template <unsigned kKind>
GFXGRAPH_INLINE void DeepObserver::after(WaveState& state, const Wave& wave, const Inst& inst) {
  if constexpr (kKind < kShadowRules) {
    constexpr auto rule = static_cast<ShadowRule>(kKind);
    if ((rule == ShadowRule::kRun || rule == ShadowRule::kRunLate) && init_ != nullptr) {
      finish_run(state, wave, inst);
    } else {
      LaneObserver::after<kKind>(state, wave, inst);
      if (init_ != nullptr && !result_defined(state, wave, inst)) [[unlikely]]
        InitCheck::undefined_result(state, state.init, wave, inst, emulator::operands_of(inst));
    }
    state.loads_scratch = false;
    if (state.init.pending) [[unlikely]]
      InitCheck::finish_load(state, state.init, wave, inst);
    state.init.dwords = 0;
    if constexpr (rule == ShadowRule::kScalar || rule == ShadowRule::kLaneMask)
      if (init_ != nullptr && state.defined[emulator::operand::kExecLo] != ~0u) [[unlikely]]
        init_->exec_written(state, wave, inst);
  } else if constexpr (kKind == kBitwise) {
    if (state.init.bits_known) [[likely]]
      shadow::set_scalars(state, emulator::operands_of(inst), ~0u);
    else
      init_->after_bitwise(state, state.init, wave, inst);
  } else if constexpr (kKind != kBranch) {
    if constexpr (kKind == kOrdersAfterRun) {
      if (init_ != nullptr)
        finish_run(state, wave, inst);
      else
        LaneObserver::after<static_cast<unsigned>(ShadowRule::kRunLate)>(state, wave, inst);
    }
    race_->hook(state.race, wave, inst);
  }
}

// Of what is no load, so that nothing of one is to be finished.
template <unsigned kKind>
GFXGRAPH_INLINE bool DeepObserver::done_first(WaveState& state, const Wave& wave,
                                              const Inst& inst) const {
  constexpr auto rule = static_cast<ShadowRule>(kKind);
  if constexpr (rule == ShadowRule::kVectorOne || rule == ShadowRule::kMixedOne) {
    const uint32_t defined = shadow::packed(state, emulator::operands_of(inst));
    if (init_ != nullptr && (defined | ~wave.exec()) != ~0u) return false;
  }
  if constexpr (rule == ShadowRule::kRun)
    if (init_ != nullptr) return run_done_first(state, wave, inst);
  return LaneObserver::done_first<kKind>(state, wave, inst);
}

GFXGRAPH_INLINE bool DeepObserver::run_done_first(WaveState& state, const Wave& wave,
                                                  const Inst& inst) const {
  const ShadowRun& run = run_of(inst);
  if (shadow::finish(state, run, wave.exec())) [[likely]]
    return true;
  if (!run.by_lane) return false;
  take_run(state, wave, run);
  return true;
}

template <unsigned kKind>
GFXGRAPH_INLINE void DeepObserver::before(WaveState& state, const Wave& wave, const Inst& inst) {
  if constexpr (kKind < kShadowRules) LaneObserver::before<kKind>(state, wave, inst);
  if constexpr (kKind == kBranch) init_->branch(state, wave, inst);
  if constexpr (kKind == kBitwise) {
    state.init.bits_known = shadow::sources(state, emulator::operands_of(inst)) == ~0u;
    if (!state.init.bits_known) [[unlikely]]
      InitCheck::before_bitwise(state, state.init, wave, inst);
  }
}

GFXGRAPH_INLINE void DeepObserver::finish_run(WaveState& state, const Wave& wave,
                                              const Inst& inst) {
  const ShadowRun& run = run_of(inst);
  if (!shadow::finish(state, run, wave.exec())) [[unlikely]]
    take_run(state, wave, run);
}

// The usual case. Of memory that is not followed, too.
GFXGRAPH_INLINE bool InitCheck::all_written(const InitWave& me, const Wave& wave,
                                            const emulator::MemoryEvent& event,
                                            const emulator::RegionCacheEntry* region) {
  if (event.space != emulator::Space::kLds)
    return region != nullptr && memory_.needs_no_look(region->base, region->requested_size);
  if (me.lds->left == 0) return true;
  uint32_t low = UINT32_MAX, high = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const auto address = static_cast<uint32_t>(event.address[l]);
    const uint32_t active = wave.exec_mask.lane[l];
    low = std::min(low, address | ~active);
    high = std::max(high, address & active);
  }
  return low <= high && me.lds->all(low, uint64_t{high} + event.access_bytes - low);
}

GFXGRAPH_INLINE bool InitCheck::row_is_written(const LaneWaveState& state, const Inst& inst,
                                               const emulator::RegionCacheEntry& region) {
  return shadow::sources(state, emulator::operands_of(inst)) == ~0u &&
         (inst.mods & emulator::mmod::kLds) == 0 &&
         memory_.needs_no_look(region.base, region.requested_size);
}

GFXGRAPH_INLINE bool InitCheck::span_is_written(const LaneWaveState& state, InitWave& me,
                                                const Wave& wave, const Inst& inst,
                                                const emulator::AccessSpan& span) {
  if (wave.exec() == 0 || shadow::sources(state, emulator::operands_of(inst)) != ~0u) return false;
  if ((inst.mods & emulator::mmod::kLds) != 0) return false;
  if (span.space == emulator::Space::kLds
          ? me.lds->left != 0 && !me.lds->all(span.first, span.bytes)
          : !memory_.needs_no_look(span.first, span.bytes))
    return false;
  if (span.kind == emulator::AccessKind::kLoad) me.load_written(span.access_bytes);
  return true;
}

GFXGRAPH_INLINE void InitCheck::access(LaneWaveState& state, InitWave& me, const Wave& wave,
                                       const Inst& inst, const emulator::MemoryEvent& event,
                                       uint32_t lanes, const emulator::RegionCacheEntry* region) {
  const bool defined = shadow::sources(state, emulator::operands_of(inst)) == ~0u;
  if (!defined) report_address(state, wave, inst, event.exec);
  if ((inst.mods & emulator::mmod::kLds) != 0 && event.kind == emulator::AccessKind::kLoad &&
      inst.format != emulator::Format::kMimg) [[unlikely]]
    return load_to_lds(state, me, wave, inst, event, lanes);
  if (event.space == emulator::Space::kScratch || lanes == 0) return;  // the lane observer's
  if (event.space == emulator::Space::kLds && me.lds == nullptr) return;
  const bool loads = event.kind == emulator::AccessKind::kLoad;
  // An atomic of a place that was written takes from it, and leaves there, what is defined.
  if ((!loads && !defined) || !all_written(me, wave, event, region)) [[unlikely]]
    return each_lane(state, me, wave, inst, event, lanes);
  if (!loads) return;
  me.load_written(event);
}

namespace shadow {

// Whether no lane's access leaves [base, base + size), whether active or not: quicker than
// outside(), and nearly always true.
GFXGRAPH_INLINE bool all_within(const uint64_t* address, uint64_t base, uint64_t size,
                                uint64_t bytes) {
  if (size < bytes) return false;
  const uint64_t limit = size - bytes;
  uint64_t any = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const uint64_t offset = address[l] - base;
    any |= offset | (limit - offset);
  }
  return any >> 63 == 0;
}

// The active lanes of an atomic.
GFXGRAPH_INLINE bool aligned(const emulator::Wave& wave, const emulator::MemoryEvent& event) {
  uint32_t low = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l)
    low |= static_cast<uint32_t>(event.address[l]) & wave.exec_mask.lane[l];
  return low % event.access_bytes == 0;
}

// All active lanes are within the LDS that was requested, and aligned if it is an atomic.
GFXGRAPH_INLINE bool within_lds(const emulator::Wave& wave, const emulator::MemoryEvent& event) {
  const uint64_t requested = wave.group->lds_requested;
  const uint64_t bytes = event.access_bytes;
  if (!all_within(event.address, 0, requested, bytes) &&
      (outside(event.address, 0, requested, bytes) & event.exec) != 0)
    return false;
  return event.kind != emulator::AccessKind::kAtomic || aligned(wave, event);
}

// What the instruction's last access found.
GFXGRAPH_INLINE const emulator::RegionCacheEntry& region_of(const emulator::Wave& wave,
                                                            const emulator::Inst& inst) {
  const size_t at = (reinterpret_cast<uintptr_t>(&inst) >> 6) % emulator::Wave::kRegionCacheEntries;
  return wave.regions[at];
}

// All launched lanes are where the instruction's last access was, as the program requested it: then
// the lane observer has nothing to say.
GFXGRAPH_INLINE bool within_region(const LaneWaveState& state, const emulator::Wave& wave,
                                   const emulator::Inst& inst, const emulator::MemoryEvent& event) {
  const emulator::RegionCacheEntry& entry = region_of(wave, inst);
  if (event.in_range != ~0u || event.other_space != 0) return false;
  if (event.pointer != 0 && event.pointer - entry.base >= entry.requested_size) return false;
  if (event.kind == emulator::AccessKind::kAtomic && !aligned(wave, event)) return false;
  if (all_within(event.address, entry.base, entry.requested_size, event.access_bytes)) return true;
  const uint32_t out = outside(event.address, entry.base, entry.requested_size, event.access_bytes);
  return (out & (event.exec | state.launched)) == 0;
}

}  // namespace shadow

// In the one file that this is compiled into; never shared between instruction sets. Functions of
// their own: together their vectors do not fit into the registers.
template <bool kLds>
[[gnu::noinline]] static void look_for_races(RaceCheck& race, RaceWave& me,
                                             const emulator::Wave& wave, const emulator::Inst& inst,
                                             const emulator::MemoryEvent& event, uint32_t lanes) {
  race.access<kLds>(me, wave, inst, event, lanes);
}

GFXGRAPH_INLINE uint32_t DeepObserver::look_at(WaveState& state, const Wave& wave, const Inst& inst,
                                               const emulator::MemoryEvent& event) {
  uint32_t keep = event.exec;
  const bool lds = event.space == emulator::Space::kLds;
  const bool flat = inst.format == emulator::Format::kFlat;  // in LDS: WaitCheck wants to know
  const bool ordinary = lds ? event.other_space == 0 && !flat && shadow::within_lds(wave, event)
                            : shadow::within_region(state, wave, inst, event);
  if (!ordinary) [[unlikely]]
    keep = LaneObserver::memory(state, wave, inst, event);
  const bool of_host_call =
      event.space == emulator::Space::kGlobal && event.exec != 0 &&
      event.address[std::countr_zero(event.exec)] - kHostCallAddress < kHostCallBytes;
  if (race_ != nullptr && event.space != emulator::Space::kScratch && !of_host_call)
    (lds ? look_for_races<true>
         : look_for_races<false>)(*race_, lower_of(state).race, wave, inst, event,
                                  keep & event.in_range & ~event.other_space);
  else if (race_ != nullptr && event.space == emulator::Space::kScratch)
    race_->stack_access(lower_of(state).race, wave, inst, event,
                        keep & event.exec & event.in_range & ~event.other_space);
  if (race_ != nullptr && (inst.mods & emulator::mmod::kLds) != 0 && !lds) [[unlikely]]
    race_->load_to_lds(lower_of(state).race, wave, inst, keep & event.exec);
  if (init_ != nullptr)
    init_->access(state, state.init, wave, inst, event, keep & event.in_range & ~event.other_space,
                  ordinary && !lds ? &shadow::region_of(wave, inst) : nullptr);
  return keep;
}

[[gnu::noinline]] static uint32_t look_at_access(DeepObserver& observer, DeepWaveState& state,
                                                 const emulator::Wave& wave,
                                                 const emulator::Inst& inst,
                                                 const emulator::MemoryEvent& event) {
  return observer.look_at(state, wave, inst, event);
}

GFXGRAPH_INLINE uint32_t DeepObserver::memory(WaveState& state, const Wave& wave, const Inst& inst,
                                              const emulator::MemoryEvent& event) {
  return look_at_access(*this, state, wave, inst, event);
}

GFXGRAPH_INLINE bool DeepObserver::look_at_row(WaveState& state, const Wave& wave, const Inst& inst,
                                               emulator::AccessKind kind, uint64_t address) {
  if (address - kHostCallAddress < kHostCallBytes) return false;
  if (init_ != nullptr && !init_->row_is_written(state, inst, shadow::region_of(wave, inst)))
    return false;
  if (race_ != nullptr && ((inst.mods & emulator::mmod::kLds) != 0 ||
                           !race_->row(lower_of(state).race, inst, kind, address)))
    return false;
  if (init_ != nullptr && kind == emulator::AccessKind::kLoad) state.init.load_written(4);
  return true;
}

[[gnu::noinline]] static bool look_at_row_of(DeepObserver& observer, DeepWaveState& state,
                                             const emulator::Wave& wave, const emulator::Inst& inst,
                                             emulator::AccessKind kind, uint64_t address) {
  return observer.look_at_row(state, wave, inst, kind, address);
}

GFXGRAPH_INLINE bool DeepObserver::row(WaveState& state, const Wave& wave, const Inst& inst,
                                       emulator::AccessKind kind, uint64_t address) {
  return look_at_row_of(*this, state, wave, inst, kind, address);
}

GFXGRAPH_INLINE bool DeepObserver::look_at_span(WaveState& state, const Wave& wave,
                                                const Inst& inst,
                                                const emulator::AccessSpan& span) {
  return init_ == nullptr || init_->span_is_written(state, state.init, wave, inst, span);
}

[[gnu::noinline]] static bool look_at_span_of(DeepObserver& observer, DeepWaveState& state,
                                              const emulator::Wave& wave,
                                              const emulator::Inst& inst,
                                              const emulator::AccessSpan& span) {
  return observer.look_at_span(state, wave, inst, span);
}

GFXGRAPH_INLINE bool DeepObserver::span(WaveState& state, const Wave& wave, const Inst& inst,
                                        const emulator::AccessSpan& span) {
  return look_at_span_of(*this, state, wave, inst, span);
}

GFXGRAPH_INLINE bool DeepObserver::scalar_span(WaveState& state, const Wave& wave, const Inst& inst,
                                               uint64_t address, uint32_t bytes) {
  if (!is_ordinary(state, wave, inst)) return false;
  if (init_ != nullptr && !init_->memory().needs_no_look(address, bytes)) return false;
  if (race_ != nullptr) race_->scalar_load(lower_of(state).race, wave, inst, address, bytes);
  if (init_ != nullptr) state.init.load_written(bytes);
  return true;
}

GFXGRAPH_INLINE bool DeepObserver::scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                                               const emulator::ScalarEvent& event) {
  const bool keep = LaneObserver::scalar_load(state, wave, inst, event);
  if (race_ != nullptr && keep && event.in_range && event.mapped)
    race_->scalar_load(lower_of(state).race, wave, inst, event.address, event.bytes);
  if (init_ != nullptr && keep) init_->scalar_load(state, state.init, wave, inst, event);
  return keep;
}

}  // namespace gfxgraph::check
