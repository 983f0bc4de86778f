// Follows the tags of recorded words (provenance.h) through the registers, LDS and scratch of
// waves. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"
#include "lanecheck/data_order.h"
#include "lanecheck/provenance.h"
#include "lanecheck/provenance_rules.h"

namespace gfxgraph::lanecheck {

struct ProvenanceWave {
  static constexpr unsigned kMost = 16;  // dwords of a load
  // By operand code: whether the register has a tag; the arrays below hold nothing where it has
  // none.
  std::array<uint64_t, 8> tagged;
  std::array<Tag, 128> scalar;
  Tag vector[256][emulator::kLanes];
  // What the instruction that runs loads.
  Tag loaded[kMost][emulator::kLanes];
  std::array<uint32_t, kMost> loaded_lanes;
  unsigned dwords = 0;
  unsigned events = 0;
  bool pending = false;  // there is a tag
  // kCrossLane: the source before.
  Tag kept[emulator::kLanes];
  uint32_t kept_values[emulator::kLanes];
  bool kept_any = false;
  bool touches = false;  // a source or destination of the instruction that runs had a tag
  std::vector<Tag>* lds = nullptr;  // of the workgroup; null: it has none
  std::vector<Tag> scratch;         // empty: nothing was stored
};

class ProvenanceObserver {
 public:
  static constexpr bool kInstructions = true;
  static constexpr bool kMemory = true;
  static constexpr bool kLds = true;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = true;
  using WaveState = ProvenanceWave;
  using Inst = emulator::Inst;
  using Wave = emulator::Wave;

  // Either may be null.
  ProvenanceObserver(Provenance* words, DataOrder* order) : words_(words), order_(order) {}

  // ---- hooks (emulator/observer.h) ----
  void decoded(const Inst& inst, emulator::InstOperands& operands);
  void dispatch_begin(const emulator::DispatchInfo&) { lds_.clear(); }
  void dispatch_end() {}
  void wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info);
  void wave_end(WaveState& state, const Wave& wave);
  static constexpr unsigned kHookKinds = kTagRules;
  static unsigned hook_kind(const emulator::InstOperands& operands) {
    return operands.user >> kRuleShift;
  }
  template <unsigned kKind>
  GFXGRAPH_INLINE void before(WaveState& state, const Wave& wave, const Inst& inst);
  template <unsigned kKind>
  GFXGRAPH_INLINE void after(WaveState& state, const Wave& wave, const Inst& inst);
  uint32_t memory(WaveState& state, const Wave& wave, const Inst& inst,
                  const emulator::MemoryEvent& event);
  bool scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                   const emulator::ScalarEvent& event);
  static void before_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);
  void after_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);

  // In InstOperands::user: the sources of kCombine that are strong, by number.
  static constexpr unsigned kRuleShift = 27;
  static constexpr uint32_t kStrong = 7;
  // And the TagRelation of the first two sources.
  static constexpr unsigned kRelationShift = 3;
  static constexpr uint32_t kRelations = 7;

 private:
  // With a tag in a source or result.
  void before_tagged(TagRule rule, WaveState& state, const Wave& wave, const Inst& inst);
  void after_tagged(TagRule rule, WaveState& state, const Wave& wave, const Inst& inst);
  void clear_dests(WaveState& state, const Wave& wave, const Inst& inst);
  void combine(WaveState& state, const Wave& wave, const Inst& inst);
  Tag combined(const WaveState& state, const Wave& wave, const Inst& inst, unsigned dword,
               unsigned lane);
  void relate(const WaveState& state, const Wave& wave, const Inst& inst);
  void move_relative(WaveState& state, const Wave& wave, const Inst& inst);
  void finish_load(WaveState& state, const Wave& wave, const Inst& inst);
  void finish_cross_lane(WaveState& state, const Wave& wave, const Inst& inst);
  void reach(WaveState& state, const Wave& wave, const Inst& inst,
             const emulator::MemoryEvent& event, uint32_t lanes);
  void load(WaveState& state, const Wave& wave, const Inst& inst,
            const emulator::MemoryEvent& event, uint32_t lanes);
  void store(WaveState& state, const Wave& wave, const Inst& inst,
             const emulator::MemoryEvent& event, uint32_t lanes);
  // Quick: false if it is not certain.
  bool has_no_tags(WaveState& state, const emulator::MemoryEvent& event, uint32_t lanes);
  Tag tag_at(WaveState& state, const Wave& wave, const emulator::MemoryEvent& event, unsigned lane,
             unsigned dword);

  Provenance* const words_;
  DataOrder* const order_;
  struct Lds {
    std::vector<Tag> tags;
    uint32_t waves = 0;
  };
  std::unordered_map<const emulator::Workgroup*, Lds> lds_;
};

namespace tagging {

GFXGRAPH_INLINE bool is_tagged(const ProvenanceWave& state, unsigned code) {
  return code < 512 && (state.tagged[code / 64] >> code % 64 & 1) != 0;
}

// Whether a result has a tag.
GFXGRAPH_INLINE bool any_dest(const ProvenanceWave& state, const emulator::InstOperands& operands) {
  bool found = false;
  for (unsigned n = 0; n < operands.dest_count; ++n)
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d)
      found |= is_tagged(state, operands.dest[n].code + d);
  return found;
}

// Whether a source or result has a tag.
GFXGRAPH_INLINE bool any(const ProvenanceWave& state, const emulator::InstOperands& operands) {
  bool found = any_dest(state, operands);
  for (unsigned n = 0; n < operands.source_count; ++n)
    for (unsigned d = 0; d < operands.source[n].dwords; ++d)
      found |= is_tagged(state, operands.source[n].code + d);
  return found;
}

}  // namespace tagging

template <unsigned kKind>
GFXGRAPH_INLINE void ProvenanceObserver::before(WaveState& state, const Wave& wave,
                                                const Inst& inst) {
  constexpr auto rule = static_cast<TagRule>(kKind);
  if constexpr (rule == TagRule::kVectorMemory || rule == TagRule::kScalarLoad) {
    state.events = state.dwords = 0;
    state.pending = false;
  } else if constexpr (rule == TagRule::kRelative) {
    before_tagged(rule, state, wave, inst);
  } else if constexpr (rule == TagRule::kClear) {
    // What its results held before; the usual case.
    if (tagging::any_dest(state, emulator::operands_of(inst))) [[unlikely]]
      before_tagged(rule, state, wave, inst);
  } else {
    state.touches = tagging::any(state, emulator::operands_of(inst));
    if (state.touches) [[unlikely]]
      before_tagged(rule, state, wave, inst);
  }
}

template <unsigned kKind>
GFXGRAPH_INLINE void ProvenanceObserver::after(WaveState& state, const Wave& wave,
                                               const Inst& inst) {
  constexpr auto rule = static_cast<TagRule>(kKind);
  if constexpr (rule == TagRule::kVectorMemory || rule == TagRule::kScalarLoad) {
    if (state.pending || tagging::any_dest(state, emulator::operands_of(inst))) [[unlikely]]
      finish_load(state, wave, inst);
  } else if constexpr (rule == TagRule::kCombine || rule == TagRule::kCrossLane) {
    if (state.touches && tagging::any(state, emulator::operands_of(inst))) [[unlikely]]
      after_tagged(rule, state, wave, inst);
  }
}

}  // namespace gfxgraph::lanecheck
