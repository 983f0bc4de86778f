// The hooks of DeepObserver that run for every instruction. Included by deep_backend.cpp, which is
// compiled per host instruction set.
#pragma once

#include "lanecheck/deep_observer.h"
#include "lanecheck/lane_observer.inl"

namespace gfxgraph::lanecheck {

template <unsigned kKind>
GFXGRAPH_INLINE void DeepObserver::after(WaveState& state, const Wave& wave, const Inst& inst) {
  if constexpr (kKind < kShadowRules) {
    LaneObserver::after<kKind>(state, wave, inst);
    if (state.init.dwords != 0) InitCheck::finish_load(state, state.init, wave, inst);
    constexpr auto rule = static_cast<ShadowRule>(kKind);
    if constexpr (rule == ShadowRule::kScalar || rule == ShadowRule::kLaneMask)
      if (init_ != nullptr && state.defined[emulator::operand::kExecLo] != ~0u) [[unlikely]]
        init_->exec_written(state, wave, inst);
  } else if constexpr (kKind == kBitwise) {
    init_->after_bitwise(state, state.init, wave, inst);
  } else if constexpr (kKind != kBranch) {
    if constexpr (kKind == kOrdersAfterRun)
      LaneObserver::after<static_cast<unsigned>(ShadowRule::kRun)>(state, wave, inst);
    race_->hook(state.race, wave, inst);
  }
}

namespace shadow {

// All active lanes are within the LDS that was requested, and aligned if it is an atomic.
GFXGRAPH_INLINE bool within_lds(const emulator::Wave& wave, const emulator::MemoryEvent& event) {
  const uint64_t requested = wave.group->lds_requested;
  const uint64_t bytes = event.access_bytes;
  if (requested < bytes) return false;
  uint32_t out = 0;
  uint32_t low = 0;
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const uint64_t address = event.address[l];
    out |= static_cast<uint32_t>(address > requested - bytes) << l;
    low |= static_cast<uint32_t>(address) & wave.exec_mask.lane[l];
  }
  if ((out & event.exec) != 0) return false;
  return event.kind != emulator::AccessKind::kAtomic || low % bytes == 0;
}

// All launched lanes are where the instruction's last access was, as the program requested it: then
// the lane observer has nothing to say.
GFXGRAPH_INLINE bool within_region(const LaneWaveState& state, const emulator::Wave& wave,
                                   const emulator::Inst& inst, const emulator::MemoryEvent& event) {
  const size_t at = (reinterpret_cast<uintptr_t>(&inst) >> 6) % emulator::Wave::kRegionCacheEntries;
  const emulator::RegionCacheEntry& entry = wave.regions[at];
  if (event.in_range != ~0u || event.other_space != 0) return false;
  if (event.pointer != 0 && event.pointer - entry.base >= entry.requested_size) return false;
  if (event.kind == emulator::AccessKind::kAtomic) {
    uint32_t low = 0;
    for (unsigned l = 0; l < emulator::kLanes; ++l)
      low |= static_cast<uint32_t>(event.address[l]) & wave.exec_mask.lane[l];
    if (low % event.access_bytes != 0) return false;
  }
  const uint32_t out = outside(event.address, entry.base, entry.requested_size, event.access_bytes);
  return (out & (event.exec | state.launched)) == 0;
}

}  // namespace shadow

GFXGRAPH_INLINE uint32_t DeepObserver::look_at(WaveState& state, const Wave& wave, const Inst& inst,
                                               const emulator::MemoryEvent& event) {
  uint32_t keep = event.exec;
  const bool ordinary = event.space == emulator::Space::kLds
                            ? event.other_space == 0 && shadow::within_lds(wave, event)
                            : shadow::within_region(state, wave, inst, event);
  if (!ordinary) [[unlikely]]
    keep = LaneObserver::memory(state, wave, inst, event);
  if (race_ != nullptr && event.space != emulator::Space::kScratch)
    race_->access(lower_of(state).race, wave, inst, event,
                  keep & event.in_range & ~event.other_space);
  if (init_ != nullptr)
    init_->access(state, state.init, wave, inst, event, keep & event.in_range & ~event.other_space);
  return keep;
}

// In the one file that this is compiled into; never shared between instruction sets.
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

GFXGRAPH_INLINE bool DeepObserver::scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                                               const emulator::ScalarEvent& event) {
  const bool keep = LaneObserver::scalar_load(state, wave, inst, event);
  if (race_ != nullptr && keep && event.in_range && event.mapped)
    race_->scalar_load(lower_of(state).race, wave, inst, event.address, event.bytes);
  if (init_ != nullptr && keep) init_->scalar_load(state, state.init, wave, inst, event);
  return keep;
}

}  // namespace gfxgraph::lanecheck
