// Follows the tags of recorded words (provenance.h) through the registers, LDS and scratch of
// waves. For engines with one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "check/order/data_order.h"
#include "check/provenance/provenance.h"
#include "check/provenance/provenance_rules.h"
#include "check/provenance/register_tags.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

struct ProvenanceWave {
  static constexpr unsigned kMost = 16;  // most dwords of a load
  // What each instruction needs comes first, side by side.
  unsigned dwords = 0;
  unsigned events = 0;
  bool pending = false;  // the current instruction loads a tag
  // Plain instructions: what their result still needs.
  enum class Check : uint8_t { kNone, kValue, kAll };
  Check check = Check::kNone;
  bool kept_any = false;
  const Tag* scalars = nullptr;     // tags of the `dwords` that a scalar load loads; null: none
  std::vector<Tag>* lds = nullptr;  // the workgroup's; null: it has no LDS
  std::vector<Tag> scratch;         // empty: no tag was stored
  RegisterTags registers;
  std::array<Tag, kMost> loaded_scalars;
  // Tags of the dwords that the current instruction loads.
  Tag loaded[kMost][emulator::kLanes];
  std::array<uint32_t, kMost> loaded_lanes;
  // kCrossLane: the source before the instruction.
  Tag kept[emulator::kLanes];
  uint32_t kept_values[emulator::kLanes];
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

  // Either may be null; both must outlive this.
  ProvenanceObserver(Provenance* words, DataOrder* order) : words_(words), order_(order) {}

  // ---- hooks (emulator/engine/observer.h) ----
  void decoded(const Inst& inst, emulator::InstOperands& operands);
  void dispatch_begin(const emulator::DispatchInfo&) { lds_.clear(); }
  void dispatch_end() {}
  void wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo& info);
  void wave_end(WaveState& state, const Wave& wave);
  // Each rule, with few operands and with any number; and plain instructions (kPlain).
  static constexpr unsigned kPlainScalar = 2 * kTagRules;
  static constexpr unsigned kPlainVector = kPlainScalar + 1;
  static constexpr unsigned kHookKinds = kPlainVector + 1;
  static unsigned hook_kind(const emulator::InstOperands& operands) {
    return operands.user >> kKindShift;
  }
  // The run loop calls work() first, and neither before() nor after() if it returns 0.
  static constexpr bool kTestsForWork = true;
  // What the operands' tags leave for these hooks. Plain instructions: the
  // kinds of the tags, see kTaggedSource; others: kTaggedSource and kTaggedDest.
  template <unsigned kKind>
  static constexpr bool has_work_test() {
    constexpr auto rule = static_cast<TagRule>(kKind / 2);
    return rule != TagRule::kVectorMemory && rule != TagRule::kScalarLoad &&
           rule != TagRule::kRelative;
  }
  template <unsigned kKind>
  GFXGRAPH_INLINE static uint32_t work(const WaveState& state, const Inst& inst);
  // Does before the instruction all that before() and after() would do. False, without effect:
  // these are needed.
  template <unsigned kKind>
  static constexpr bool may_be_done_first() {
    return kKind == kPlainVector;
  }
  template <unsigned kKind>
  GFXGRAPH_INLINE static bool done_first(WaveState& state, const Wave& wave, const Inst& inst,
                                         uint32_t work);
  template <unsigned kKind>
  GFXGRAPH_INLINE void before(WaveState& state, const Wave& wave, const Inst& inst, uint32_t work);
  template <unsigned kKind>
  GFXGRAPH_INLINE void after(WaveState& state, const Wave& wave, const Inst& inst);
  GFXGRAPH_INLINE uint32_t memory(WaveState& state, const Wave& wave, const Inst& inst,
                                  const emulator::MemoryEvent& event) {
    if (!moves_no_tags(state, wave, inst, event)) [[unlikely]]
      follow(state, wave, inst, event);
    return event.exec;
  }
  GFXGRAPH_INLINE bool row(WaveState& state, const Wave& wave, const Inst& inst,
                           emulator::AccessKind kind, uint64_t address) const;
  bool wants_spans() const { return order_ == nullptr; }
  GFXGRAPH_INLINE bool span(WaveState& state, const Wave& wave, const Inst& inst,
                            const emulator::AccessSpan& span) const;
  GFXGRAPH_INLINE bool scalar_span(WaveState& state, const Wave& wave, const Inst& inst,
                                   uint64_t address, uint32_t bytes);
  bool scalar_load(WaveState& state, const Wave& wave, const Inst& inst,
                   const emulator::ScalarEvent& event);
  // After an S_LOAD, which has no other hook.
  template <unsigned kDwords>
  GFXGRAPH_INLINE static bool wants_scalars(const WaveState& state, const Inst& inst);
  template <unsigned kDwords>
  GFXGRAPH_INLINE void scalar_loaded(WaveState& state, const Wave& wave, const Inst& inst);
  static void before_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);
  void after_halves(WaveState& low, WaveState& high, const emulator::HalfPlan& plan);

  // In InstOperands::user: twice the rule, plus 1 if the instruction has few operands. The dwords
  // of these are then listed one by one, up to the counts below.
  static constexpr unsigned kKindShift = 27;
  static constexpr unsigned kFewSources = 4;
  static constexpr unsigned kFewDests = 2;
  // kCombine: mask of the strong sources.
  static constexpr uint32_t kStrong = 7;
  // kCombine: the Relation of the first two sources.
  static constexpr unsigned kRelationShift = 3;
  static constexpr uint32_t kRelations = 7;
  // kCombine: the instruction has few operands, all dwords, and if it is a vector instruction works
  // lane by lane. The first three listed sources are then those of its result.
  static constexpr uint32_t kPlain = 1 << 6;
  static constexpr unsigned kPlainSources = 3;
  // work(). Of a plain instruction: two bits for each of the first three sources, its
  // RegisterTags::Kind, then kTaggedDest.
  static constexpr uint32_t kTaggedSource = 1;
  static constexpr uint32_t kTaggedDest = 1 << 6;
  // kPlain: at this bit, the values of work() without kTaggedDest that a strong source may have.
  static constexpr unsigned kStrongWorkShift = 8;
  // kVectorMemory: operand code of the upper dword of the address's pointer.
  static constexpr unsigned kBaseShift = 6;
  static constexpr uint32_t kBases = 1023;

 private:
  // kPlain. Fast for the usual case: a result such as a sum, with at most one tagged source, whose
  // tag it keeps in all lanes.
  template <bool kVector>
  GFXGRAPH_INLINE void before_plain(WaveState& state, const Wave& wave, const Inst& inst,
                                    uint32_t work);
  template <bool kVector>
  GFXGRAPH_INLINE void after_plain(WaveState& state, const Wave& wave, const Inst& inst);
  // Fast path for the usual case: an access through a proven pointer, or to LDS or scratch, where
  // neither memory nor values have tags.
  GFXGRAPH_INLINE bool moves_no_tags(WaveState& state, const Wave& wave, const Inst& inst,
                                     const emulator::MemoryEvent& event) const;
  // What a store or atomic takes from registers.
  GFXGRAPH_INLINE static bool any_data_tagged(const WaveState& state, const Inst& inst,
                                              unsigned bytes);
  // By a proven pointer that all of `lanes` share.
  GFXGRAPH_INLINE bool is_by_proven(const WaveState& state, const Inst& inst, uint32_t lanes) const;
  void follow(WaveState& state, const Wave& wave, const Inst& inst,
              const emulator::MemoryEvent& event);
  // For instructions with a tag in a source or result.
  void before_tagged(TagRule rule, WaveState& state, const Wave& wave, const Inst& inst);
  void after_tagged(TagRule rule, WaveState& state, const Wave& wave, const Inst& inst);
  void clear_dests(WaveState& state, const Wave& wave, const Inst& inst);
  void combine(WaveState& state, const Wave& wave, const Inst& inst);
  Tag combined(const WaveState& state, const Wave& wave, const Inst& inst, unsigned dword,
               unsigned lane);
  void relate(const WaveState& state, const Wave& wave, const Inst& inst);
  void move_relative(WaveState& state, const Wave& wave, const Inst& inst);
  void finish_load(WaveState& state, const Wave& wave, const Inst& inst);
  void load_scalars(WaveState& state, uint64_t address, uint32_t bytes);
  void finish_scalar_load(WaveState& state, const Wave& wave, const Inst& inst);
  void finish_cross_lane(WaveState& state, const Wave& wave, const Inst& inst);
  void reach(const WaveState& state, const Inst& inst, const emulator::MemoryEvent& event,
             uint32_t lanes);
  void load(WaveState& state, const Wave& wave, const Inst& inst,
            const emulator::MemoryEvent& event, uint32_t lanes);
  void store(WaveState& state, const Wave& wave, const Inst& inst,
             const emulator::MemoryEvent& event, uint32_t lanes);
  // Fast: false if not certain.
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
  unsigned end_of_vectors_ = RegisterTags::kFirstVector;  // of codes that may get tags
  // Waves load the same scalars, mostly arguments. What load_scalars() found, by address.
  struct ScalarWords {
    uint64_t address = UINT64_MAX;
    uint64_t changes = 0;       // TagMemory::changes()
    const Tag* tags = nullptr;  // null: none
    uint32_t bytes = 0;
  };
  static constexpr unsigned kScalarWords = 32;
  std::array<ScalarWords, kScalarWords> scalar_words_;
};

// Whether a destination has a tag.
template <bool kFew>
GFXGRAPH_INLINE bool any_dest_tagged(const RegisterTags& registers,
                                     const emulator::InstOperands& operands) {
  bool found = false;
  if constexpr (kFew) {
    for (unsigned n = 0; n < ProvenanceObserver::kFewDests; ++n)
      found |= registers.any(operands.dest[n].code);
    return found;
  }
  for (unsigned n = 0; n < operands.dest_count; ++n)
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d)
      found |= registers.any(operands.dest[n].code + d);
  return found;
}

// Whether a source has a tag.
template <bool kFew>
GFXGRAPH_INLINE bool any_source_tagged(const RegisterTags& registers,
                                       const emulator::InstOperands& operands) {
  bool found = false;
  if constexpr (kFew) {
    for (unsigned n = 0; n < ProvenanceObserver::kFewSources; ++n)
      found |= registers.any(operands.source[n].code);
    return found;
  }
  for (unsigned n = 0; n < operands.source_count; ++n)
    for (unsigned d = 0; d < operands.source[n].dwords; ++d)
      found |= registers.any(operands.source[n].code + d);
  return found;
}

template <unsigned kKind>
GFXGRAPH_INLINE uint32_t ProvenanceObserver::work(const WaveState& state, const Inst& inst) {
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  const RegisterTags& registers = state.registers;
  if constexpr (kKind >= kPlainScalar) {
    uint32_t sources = 0;
    for (unsigned n = 0; n < kPlainSources; ++n)
      sources |= uint32_t{registers.kind(operands.source[n].code)} << 2 * n;
    const unsigned dests = registers.kind(inst.dst) | registers.kind(operands.dest[1].code);
    return sources | dests * kTaggedDest;
  } else {
    constexpr auto rule = static_cast<TagRule>(kKind / 2);
    constexpr bool kFew = kKind % 2 != 0;
    const uint32_t dest = any_dest_tagged<kFew>(registers, operands) ? kTaggedDest : 0;
    // Clears old tags of the destinations; usually there are none.
    if constexpr (rule == TagRule::kClear) return dest;
    return dest | (any_source_tagged<kFew>(registers, operands) ? kTaggedSource : 0);
  }
}

template <unsigned kKind>
GFXGRAPH_INLINE bool ProvenanceObserver::done_first(WaveState& state, const Wave& wave,
                                                    const Inst& inst, uint32_t work) {
  static_assert(kKind == kPlainVector);
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  RegisterTags& registers = state.registers;
  if (registers.any(operands.dest[1].code)) return false;
  const uint32_t tagged = work & (kTaggedDest - 1);
  if (tagged == 0) return registers.clear_quickly(inst.dst, wave.exec());
  if ((tagged & (tagged - 1)) != 0 || (tagged & ~(operands.user >> kStrongWorkShift)) != 0)
    return false;
  const unsigned from = operands.source[static_cast<unsigned>(std::countr_zero(tagged)) / 2].code;
  return registers.pass_on(from, inst.dst, wave.exec());
}

template <unsigned kKind>
GFXGRAPH_INLINE void ProvenanceObserver::before(WaveState& state, const Wave& wave,
                                                const Inst& inst, uint32_t work) {
  constexpr auto rule = static_cast<TagRule>(kKind / 2);
  if constexpr (kKind >= kPlainScalar) {
    before_plain<kKind == kPlainVector>(state, wave, inst, work);
  } else if constexpr (rule == TagRule::kVectorMemory) {
    state.events = state.dwords = 0;
    state.pending = false;
  } else if constexpr (rule == TagRule::kScalarLoad) {
    return;
  } else {
    if (rule == TagRule::kCombine && kKind % 2 != 0 && (work & kTaggedSource) == 0)
      return clear_dests(state, wave, inst);
    before_tagged(rule, state, wave, inst);
  }
}

template <unsigned kKind>
GFXGRAPH_INLINE void ProvenanceObserver::after(WaveState& state, const Wave& wave,
                                               const Inst& inst) {
  constexpr auto rule = static_cast<TagRule>(kKind / 2);
  constexpr bool kFew = kKind % 2 != 0;
  if constexpr (kKind >= kPlainScalar) {
    after_plain<kKind == kPlainVector>(state, wave, inst);
  } else if constexpr (rule == TagRule::kScalarLoad) {
    finish_scalar_load(state, wave, inst);
  } else if constexpr (rule == TagRule::kVectorMemory) {
    if (state.pending || any_dest_tagged<kFew>(state.registers, emulator::operands_of(inst)))
        [[unlikely]] {
      if constexpr (kFew) {
        const unsigned dest = emulator::operands_of(inst).dest[0].code;
        if (state.pending || dest < RegisterTags::kFirstVector ||
            state.registers.any(emulator::operands_of(inst).dest[1].code)) [[unlikely]]
          finish_load(state, wave, inst);
        else  // only old tags, to be cleared
          state.registers.fill_quickly(dest, wave.exec(), 0);
      } else {
        finish_load(state, wave, inst);
      }
    }
  } else if constexpr (rule == TagRule::kCombine) {
    if (any_dest_tagged<kFew>(state.registers, emulator::operands_of(inst)))
      after_tagged(rule, state, wave, inst);
  } else if constexpr (rule == TagRule::kCrossLane) {
    after_tagged(rule, state, wave, inst);
  }
}

template <bool kVector>
GFXGRAPH_INLINE void ProvenanceObserver::before_plain(WaveState& state, const Wave& wave,
                                                      const Inst& inst, uint32_t work) {
  using Check = WaveState::Check;
  const emulator::InstOperands& operands = emulator::operands_of(inst);
  RegisterTags& registers = state.registers;
  const uint32_t exec = kVector ? wave.exec() : 1;
  const uint32_t tagged = work & (kTaggedDest - 1);
  Tag tag = 0;
  if (tagged != 0) {
    const unsigned from = operands.source[static_cast<unsigned>(std::countr_zero(tagged)) / 2].code;
    // Not several sources, none with different tags, and none that the result does not keep.
    if ((tagged & (tagged - 1)) != 0 || (tagged & ~(operands.user >> kStrongWorkShift)) != 0 ||
        !registers.all_have_one(from, exec, tag)) [[unlikely]] {
      state.check = Check::kAll;
      return before_tagged(TagRule::kCombine, state, wave, inst);
    }
  }
  bool whole = true;
  if constexpr (kVector)
    whole = registers.fill_quickly(inst.dst, exec, tag);
  else
    registers.set_scalar(inst.dst, tag);
  if (const unsigned carry = operands.dest[1].code; registers.any(carry)) [[unlikely]]
    registers.set_scalar(carry, 0);
  // If not whole, other lanes may keep their tags.
  state.check = !whole || tag >= Tags::kWeak ? Check::kAll : Check::kNone;
  if (state.check == Check::kNone && tag != 0) state.check = Check::kValue;
}

template <bool kVector>
GFXGRAPH_INLINE void ProvenanceObserver::after_plain(WaveState& state, const Wave& wave,
                                                     const Inst& inst) {
  if (state.check == WaveState::Check::kNone) [[likely]]
    return;
  if constexpr (!kVector) {
    if (state.check == WaveState::Check::kValue && !Tags::ends(wave.sgpr[inst.dst])) [[likely]]
      return;
  }
  after_tagged(TagRule::kCombine, state, wave, inst);
}

GFXGRAPH_INLINE bool ProvenanceObserver::any_data_tagged(const WaveState& state, const Inst& inst,
                                                         unsigned bytes) {
  const bool second = inst.format == emulator::Format::kDs && inst.src[2] < 512;
  bool found = false;
  for (unsigned d = 0; d < (bytes + 3U) / 4; ++d) {
    found |= state.registers.any(std::min<unsigned>(inst.src[1], RegisterTags::kNoRegister) + d);
    if (second) found |= state.registers.any(inst.src[2] + d);
  }
  return found;
}

GFXGRAPH_INLINE bool ProvenanceObserver::is_by_proven(const WaveState& state, const Inst& inst,
                                                      uint32_t lanes) const {
  Tag tag = 0;
  const unsigned base = emulator::operands_of(inst).user >> kBaseShift & kBases;
  return base < RegisterTags::kNoRegister && state.registers.all_have_one(base, lanes, tag) &&
         words_->is_proven(tag);
}

GFXGRAPH_INLINE bool ProvenanceObserver::moves_no_tags(WaveState& state, const Wave& wave,
                                                       const Inst& inst,
                                                       const emulator::MemoryEvent& event) const {
  if (order_ != nullptr || inst.format == emulator::Format::kMimg) return false;
  const uint32_t lanes = event.exec & event.in_range & ~event.other_space;
  if (lanes == 0) return true;
  if (event.kind != emulator::AccessKind::kLoad && any_data_tagged(state, inst, event.access_bytes))
    return false;
  if (event.space == emulator::Space::kLds) {
    if (state.lds != nullptr && !state.lds->empty()) return false;
    ++state.events;
    return true;
  }
  if (event.space == emulator::Space::kScratch) return state.scratch.empty();
  if (lanes != wave.exec() || !is_by_proven(state, inst, lanes)) return false;
  const uint64_t first = event.address[static_cast<unsigned>(std::countr_zero(lanes))];
  const unsigned last_byte = event.access_bytes - 1U;
  uint64_t differ = 0;  // address bits in which lanes differ
  for (unsigned l = 0; l < emulator::kLanes; ++l) {
    const auto active =
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(wave.exec_mask.lane[l])));
    const uint64_t address = event.address[l];
    differ |= ((address ^ first) | ((address + last_byte) ^ first)) & active;
  }
  return words_->memory().has_none(first, differ);
}

// As moves_no_tags().
GFXGRAPH_INLINE bool ProvenanceObserver::row(WaveState& state, const Wave&, const Inst& inst,
                                             emulator::AccessKind kind, uint64_t address) const {
  if (order_ != nullptr ||
      (kind != emulator::AccessKind::kLoad && state.registers.any(inst.src[1])))
    return false;
  // The upper dword of the base differs from the address's by at most 1, so it ends no lane's tag.
  const uint32_t upper = static_cast<uint32_t>(address >> 32);
  if (upper - 2 > ~0U - 4) [[unlikely]]
    return false;
  const unsigned base = emulator::operands_of(inst).user >> kBaseShift & kBases;
  Tag tag = 0;
  return base < RegisterTags::kNoRegister && state.registers.all_have_one_if_none_ends(base, tag) &&
         words_->is_proven(tag) &&
         words_->memory().has_none(address, address ^ (address + 4 * emulator::kLanes - 1));
}

// As moves_no_tags(). Addresses between two have the bits that these share.
GFXGRAPH_INLINE bool ProvenanceObserver::span(WaveState& state, const Wave& wave, const Inst& inst,
                                              const emulator::AccessSpan& span) const {
  if (wave.exec() == 0 ||
      (span.kind != emulator::AccessKind::kLoad && any_data_tagged(state, inst, span.access_bytes)))
    return false;
  if (span.space == emulator::Space::kLds) {
    if (!state.lds->empty()) return false;
    ++state.events;
    return true;
  }
  return is_by_proven(state, inst, wave.exec()) &&
         words_->memory().has_none(span.first, span.first ^ (span.first + span.bytes - 1));
}

// By a proven pointer, or from memory that is known not to be recorded.
GFXGRAPH_INLINE bool ProvenanceObserver::scalar_span(WaveState& state, const Wave&,
                                                     const Inst& inst, uint64_t address,
                                                     uint32_t bytes) {
  if (order_ != nullptr) return false;
  const Tag tag = state.registers.scalar(inst.src[0] + 1U);
  if (tag != 0 ? !words_->is_proven(tag) : !words_->is_not_recorded(address)) return false;
  const ScalarWords& words = scalar_words_[address / 4 % kScalarWords];
  if (words.address != address || words.bytes != bytes ||
      words.changes != words_->memory().changes()) [[unlikely]]
    return false;
  state.scalars = words.tags;
  return true;
}

template <unsigned kDwords>
GFXGRAPH_INLINE bool ProvenanceObserver::wants_scalars(const WaveState& state, const Inst& inst) {
  return state.scalars != nullptr || state.registers.any_of<kDwords>(inst.dst);
}

template <unsigned kDwords>
GFXGRAPH_INLINE void ProvenanceObserver::scalar_loaded(WaveState& state, const Wave& wave,
                                                       const Inst& inst) {
  const Tag* const tags = state.scalars;
  Tag any = 0;
  for (unsigned d = 0; tags != nullptr && d < kDwords; ++d) any |= tags[d];
  if (any == 0 || any >= Tags::kWeak || inst.dst + kDwords > emulator::operand::kM0) [[unlikely]]
    return finish_scalar_load(state, wave, inst);
  state.scalars = nullptr;
  for (unsigned d = 0; d < kDwords; ++d)
    state.registers.set_scalar_quickly(inst.dst + d,
                                       Tags::ends(wave.sgpr[inst.dst + d]) ? 0 : tags[d]);
}

}  // namespace gfxgraph::check
