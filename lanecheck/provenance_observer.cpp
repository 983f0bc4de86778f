#include "lanecheck/provenance_observer.h"

#include <algorithm>
#include <bit>

#include "emulator/decode/operand_uses.h"
#include "emulator/engine/wave64.h"
#include "lanecheck/shadow_rule.h"

namespace gfxgraph::lanecheck {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::kLanes;
using emulator::Op;
using emulator::Space;
using emulator::VopExtra;
using emulator::Wave;
namespace operand = emulator::operand;

constexpr unsigned kFirstVector = operand::kVgpr0;

ProvenanceWave& half_of(ProvenanceWave& state, const Wave& wave, uint32_t lane) {
  const bool upper = wave.upper != nullptr && (lane & 32) != 0;
  return upper ? *static_cast<ProvenanceWave*>(wave.upper->observer_state) : state;
}

Tag tag_of(const ProvenanceWave& state, unsigned code, unsigned lane) {
  if (!tagging::is_tagged(state, code)) return 0;
  return code < kFirstVector ? state.scalar[code] : state.vector[code - kFirstVector][lane];
}

void set_scalar(ProvenanceWave& state, unsigned code, Tag tag) {
  if (code >= 128 || code == operand::kNull) return;
  const uint64_t bit = UINT64_C(1) << code % 64;
  uint64_t& word = state.tagged[code / 64];
  word = tag != 0 ? word | bit : word & ~bit;
  state.scalar[code] = tag;
}

// `tags` null: none.
void set_vector(ProvenanceWave& state, unsigned code, uint32_t lanes, const Tag* tags) {
  if (code < kFirstVector || code >= 512) return;
  uint64_t& word = state.tagged[code / 64];
  const uint64_t bit = UINT64_C(1) << code % 64;
  Tag* const row = state.vector[code - kFirstVector];
  const bool before = (word & bit) != 0;
  if (!before && tags == nullptr) return;
  Tag all = 0;
  if (lanes == ~0U) {
    for (unsigned l = 0; tags != nullptr && l < kLanes; ++l) all |= row[l] = tags[l];
    word = all != 0 ? word | bit : word & ~bit;
    return;
  }
  for (unsigned l = 0; l < kLanes; ++l) {
    const Tag old = before ? row[l] : 0;
    row[l] = (lanes >> l & 1) != 0 ? (tags == nullptr ? 0 : tags[l]) : old;
    all |= row[l];
  }
  word = all != 0 ? word | bit : word & ~bit;
}

// The same tag in all active lanes.
void fill_vector(ProvenanceWave& state, const Wave& wave, unsigned code, Tag tag) {
  if (code < kFirstVector || code >= 512) return;
  Tag tags[kLanes];
  std::fill_n(tags, kLanes, tag);
  set_vector(state, code, wave.exec(), tag == 0 ? nullptr : tags);
}

// Whether the register has the same tag in all active lanes: addresses in one buffer nearly always.
bool same_in_lanes(const ProvenanceWave& state, const Wave& wave, unsigned code) {
  if (code < kFirstVector || !tagging::is_tagged(state, code)) return true;
  const Tag* const row = state.vector[code - kFirstVector];
  const Tag first = row[static_cast<unsigned>(std::countr_zero(wave.exec())) % kLanes];
  Tag other = 0;
  for (unsigned l = 0; l < kLanes; ++l) other |= (row[l] ^ first) & wave.exec_mask.lane[l];
  return other == 0;
}

}  // namespace

void ProvenanceObserver::decoded(const Inst& inst, InstOperands& operands) {
  const TagRule rule = tag_rule_of(inst);
  uint32_t extra = rule == TagRule::kCombine ? strong_sources(inst) : 0;
  extra |= static_cast<uint32_t>(relation_of(inst)) << kRelationShift;
  const bool memory = rule == TagRule::kVectorMemory || rule == TagRule::kScalarLoad;
  operands.hooked = words_ != nullptr && (memory || rule == TagRule::kJump ||
                                          rule == TagRule::kCompare || operands.dest_count != 0);
  operands.user = static_cast<uint32_t>(rule) << kRuleShift | extra;
}

void ProvenanceObserver::wave_begin(WaveState& state, const Wave& wave, const emulator::WaveInfo&) {
  state.tagged.fill(0);
  state.scratch.clear();
  state.dwords = state.events = 0;
  state.pending = false;
  state.lds = nullptr;
  if (wave.group->lds_bytes == 0) return;
  Lds& lds = lds_[wave.group];
  if (lds.waves == 0) {
    lds.tags.clear();
    lds.waves = wave.group->wave_count;
  }
  state.lds = &lds.tags;
}

void ProvenanceObserver::wave_end(WaveState&, const Wave& wave) {
  if (wave.first_lane != 0) return;
  const auto found = lds_.find(wave.group);
  if (found != lds_.end() && --found->second.waves == 0) lds_.erase(found);
}

void ProvenanceObserver::before_halves(WaveState& low, WaveState& high,
                                       const emulator::HalfPlan& plan) {
  for (unsigned n = 0; n < plan.copy_count; ++n)
    set_scalar(high, plan.copies[n].to, tag_of(low, plan.copies[n].from, 0));
  for (unsigned n = 0; n < 3; ++n) {
    if ((plan.specials >> n & 1) == 0) continue;
    for (unsigned d = 0; d < 2; ++d) set_scalar(high, plan.high->src[n] + d, 0);
  }
}

void ProvenanceObserver::after_halves(WaveState& low, WaveState&, const emulator::HalfPlan& plan) {
  if (plan.mask_result != emulator::HalfPlan::kNone) set_scalar(low, plan.mask_result, 0);
}

// ---- registers ----

void ProvenanceObserver::clear_dests(WaveState& state, const Wave& wave, const Inst& inst) {
  const InstOperands& operands = emulator::operands_of(inst);
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
      const unsigned code = operands.dest[n].code + d;
      if (code >= kFirstVector)
        set_vector(state, code, wave.exec(), nullptr);
      else
        set_scalar(state, code, 0);
    }
  }
}

// The product does not reach the upper dword: an index times a size.
static bool product_is_small(const Wave& wave, const Inst& inst, unsigned lane) {
  const auto value = [&](int n) {
    return operand::is_vgpr(inst.src[n]) ? wave.v(inst.src[n]).lane[lane] : wave.read32(&inst, n);
  };
  if (inst.op == Op::v_mad_u64_u32) return (uint64_t{value(0)} * value(1)) >> 32 == 0;
  const int64_t product = int64_t{static_cast<int32_t>(value(0))} * static_cast<int32_t>(value(1));
  return product >> 32 == 0 || product >> 32 == -1;
}

Tag ProvenanceObserver::combined(const WaveState& state, const Wave& wave, const Inst& inst,
                                 unsigned dword, unsigned lane) {
  Tags& tags = words_->tags();
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  const uint32_t strong = emulator::operands_of(inst).user & kStrong;
  const bool wide = inst.op == Op::v_mad_u64_u32 || inst.op == Op::v_mad_i64_i32;
  Tag all = 0;
  for (unsigned n = 0; n < 3; ++n) {
    const unsigned code = inst.src[n];
    if (code >= 512 || (n == 2 && has_carry_in(inst.op))) continue;
    const unsigned dwords = info.src_dwords[n];
    if ((strong >> n & 1) != 0) {
      if (dword == 0 || dwords > 1) all = tags.unite(all, tag_of(state, code + dword, lane));
      continue;
    }
    if (wide && dword == 1 && product_is_small(wave, inst, lane)) continue;
    for (unsigned d = 0; d < dwords; ++d)
      all = tags.unite(all, tags.weaken(tag_of(state, code + d, lane)));
  }
  return all;
}

// Whether combined() gives the same for each active lane.
static bool combines_alike(const ProvenanceWave& state, const Wave& wave, const Inst& inst) {
  if (inst.extra() != VopExtra::kNone) return false;
  const bool wide = inst.op == Op::v_mad_u64_u32 || inst.op == Op::v_mad_i64_i32;
  // The lanes' values tell.
  if (wide && (tagging::is_tagged(state, inst.src[0]) || tagging::is_tagged(state, inst.src[1])))
    return false;
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  for (unsigned n = 0; n < 3; ++n)
    for (unsigned d = 0; d < std::max<unsigned>(1, info.src_dwords[n]); ++d)
      if (!same_in_lanes(state, wave, inst.src[n] + d)) return false;
  return true;
}

void ProvenanceObserver::combine(WaveState& state, const Wave& wave, const Inst& inst) {
  constexpr unsigned kMostDwords = 2;
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  const unsigned dwords = std::min<unsigned>(info.dst_dwords, kMostDwords);
  if (inst.dst < kFirstVector) {
    Tag made[kMostDwords] = {};
    for (unsigned d = 0; d < dwords; ++d) made[d] = combined(state, wave, inst, d, 0);
    clear_dests(state, wave, inst);
    if (emulator::is_vector_alu(inst.format)) return;  // a mask of lanes
    for (unsigned d = 0; d < dwords; ++d) set_scalar(state, inst.dst + d, made[d]);
    return;
  }
  if (wave.exec() != 0 && combines_alike(state, wave, inst)) {
    const auto lane = static_cast<unsigned>(std::countr_zero(wave.exec()));
    Tag one[kMostDwords] = {};
    for (unsigned d = 0; d < dwords; ++d) one[d] = combined(state, wave, inst, d, lane);
    if (emulator::operands_of(inst).dest_count > 1) clear_dests(state, wave, inst);  // a carry
    for (unsigned d = 0; d < dwords; ++d) fill_vector(state, wave, inst.dst + d, one[d]);
    return;
  }
  Tag made[kMostDwords][kLanes] = {};
  const bool dpp = inst.extra() == VopExtra::kDpp16 || inst.extra() == VopExtra::kDpp8;
  const bool partial = inst.extra() == VopExtra::kSdwa;
  Tags& tags = words_->tags();
  Tag others = 0;  // of all lanes
  for (unsigned l = 0; dpp && l < kLanes; ++l)
    others = tags.unite(others, tags.weaken(tag_of(state, inst.src[0], l)));
  for (uint32_t rest = wave.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned d = 0; d < dwords; ++d) {
      made[d][lane] = tags.unite(combined(state, wave, inst, d, lane), others);
      if (partial)
        made[d][lane] = tags.unite(made[d][lane], tags.weaken(tag_of(state, inst.dst + d, lane)));
    }
  }
  clear_dests(state, wave, inst);
  for (unsigned d = 0; d < dwords; ++d) set_vector(state, inst.dst + d, wave.exec(), made[d]);
}

static TagRelation relation_at(const Inst& inst) {
  return static_cast<TagRelation>(emulator::operands_of(inst).user >>
                                      ProvenanceObserver::kRelationShift &
                                  ProvenanceObserver::kRelations);
}

void ProvenanceObserver::relate(const WaveState& state, const Wave& wave, const Inst& inst) {
  const TagRelation relation = relation_at(inst);
  if (relation == TagRelation::kNone || relation == TagRelation::kSum) return;
  const unsigned upper = emulator::op_info(inst.op).src_dwords[0] > 1 ? 1 : 0;
  const unsigned a = inst.src[0], b = inst.src[1];
  if (!tagging::is_tagged(state, a + upper) || !tagging::is_tagged(state, b + upper)) return;
  const auto side = [&](unsigned code, unsigned lane) {
    const auto value = [&](unsigned dword) {
      if (dword < kFirstVector) return wave.sgpr[dword];
      return wave.v(static_cast<uint16_t>(dword)).lane[lane];
    };
    Provenance::Side one;
    const bool high = relation == TagRelation::kWhole || relation == TagRelation::kUpper;
    if (high) {
      one.high = tag_of(state, code + upper, lane);
      one.high_value = value(code + upper);
    }
    if (!high || relation == TagRelation::kWhole) {
      one.low = tag_of(state, high ? code : code + upper, lane);
      one.low_value = value(high ? code : code + upper);
    }
    return one;
  };
  const bool vector = emulator::is_vector_alu(inst.format);
  Tag last_a = 0, last_b = 0;
  for (uint32_t rest = vector ? wave.exec() : 1; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Tag one = tag_of(state, a + upper, lane), other = tag_of(state, b + upper, lane);
    if (one == 0 || other == 0 || (one == last_a && other == last_b)) continue;
    words_->relate(relation, side(a, lane), side(b, lane));
    last_a = one;
    last_b = other;
  }
}

void ProvenanceObserver::move_relative(WaveState& state, const Wave& wave, const Inst& inst) {
  const RelativeRegisters at = relative_registers(inst, wave.sgpr[operand::kM0]);
  const bool wide = inst.op == Op::s_movreld_b64 || inst.op == Op::s_movrels_b64;
  if (inst.dst < kFirstVector) {
    const Tag low = tag_of(state, at.source, 0), high = wide ? tag_of(state, at.source + 1U, 0) : 0;
    set_scalar(state, at.dest, low);
    if (wide) set_scalar(state, at.dest + 1U, high);
    return;
  }
  Tag source[kLanes], dest[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    source[l] = tag_of(state, at.source, l);
    dest[l] = tag_of(state, at.dest, l);
  }
  set_vector(state, at.dest, wave.exec(), source);
  if (inst.op == Op::v_swaprel_b32) set_vector(state, at.source, wave.exec(), dest);
}

void ProvenanceObserver::before_tagged(TagRule rule, WaveState& state, const Wave& wave,
                                       const Inst& inst) {
  const uint32_t exec = wave.exec();
  const unsigned dwords = std::max<unsigned>(1, emulator::op_info(inst.op).dst_dwords);
  const auto move = [&](unsigned from) {
    if (inst.dst >= kFirstVector) {
      Tag row[kLanes];
      for (unsigned l = 0; l < kLanes; ++l) row[l] = tag_of(state, from, l);
      set_vector(state, inst.dst, exec, row);
      return;
    }
    const Tag low = tag_of(state, from, 0), high = dwords > 1 ? tag_of(state, from + 1, 0) : 0;
    set_scalar(state, inst.dst, low);
    if (dwords > 1) set_scalar(state, inst.dst + 1U, high);
  };
  switch (rule) {
    case TagRule::kCombine: relate(state, wave, inst); return combine(state, wave, inst);
    case TagRule::kMove: return move(inst.src[0]);
    case TagRule::kConditional:
      if (wave.scc != 0) move(inst.op == Op::s_cmovk_i32 ? unsigned{operand::kNone} : inst.src[0]);
      return;
    case TagRule::kScalarSelect:
      move(inst.src[wave.scc != 0 ? 0 : 1]);
      set_scalar(state, operand::kNull, 0);
      return;
    case TagRule::kSelect: {
      const uint32_t bits =
          operand::is_sgpr(inst.src[2]) ? wave.sgpr[inst.src[2]] : static_cast<uint32_t>(inst.k[2]);
      Tag row[kLanes];
      for (unsigned l = 0; l < kLanes; ++l)
        row[l] = tag_of(state, inst.src[(bits >> l & 1) != 0 ? 1 : 0], l);
      return set_vector(state, inst.dst, exec, row);
    }
    case TagRule::kReadLane: {
      const uint64_t active =
          exec | (wave.upper != nullptr ? uint64_t{wave.upper->exec()} << 32 : 0);
      uint32_t lane = active == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(active));
      if (inst.op == Op::v_readlane_b32) lane = wave.read32(&inst, 1);
      const WaveState& half = half_of(state, wave, lane);
      return set_scalar(state, inst.dst, tag_of(half, inst.src[0], lane & 31));
    }
    case TagRule::kWriteLane: {
      const uint32_t lane = wave.read32(&inst, 1);
      Tag row[kLanes] = {};
      row[lane & 31] = tag_of(state, inst.src[0], 0);
      return set_vector(half_of(state, wave, lane), inst.dst, 1U << (lane & 31), row);
    }
    case TagRule::kSwap: {
      Tag first[kLanes], second[kLanes];
      for (unsigned l = 0; l < kLanes; ++l) {
        first[l] = tag_of(state, inst.dst, l);
        second[l] = tag_of(state, inst.src[0], l);
      }
      set_vector(state, inst.dst, exec, second);
      return set_vector(state, inst.src[0], exec, first);
    }
    case TagRule::kRelative: return move_relative(state, wave, inst);
    case TagRule::kCompare: relate(state, wave, inst); return clear_dests(state, wave, inst);
    case TagRule::kJump:
      if (const Tag high = tag_of(state, inst.src[0] + 1U, 0)) words_->jump(high);
      return clear_dests(state, wave, inst);
    case TagRule::kCrossLane: {
      // DS has the values in the operand behind the address, but for ds_swizzle.
      const bool second = inst.op == Op::ds_bpermute_b32 || inst.op == Op::ds_permute_b32;
      const unsigned from = inst.src[second ? 1 : 0];
      state.kept_any = tagging::is_tagged(state, from) && from >= kFirstVector;
      for (unsigned l = 0; state.kept_any && l < kLanes; ++l) {
        state.kept[l] = tag_of(state, from, l);
        state.kept_values[l] = wave.v(static_cast<uint16_t>(from)).lane[l];
      }
      // Later: the values tell where the lanes come from.
      return;
    }
    default: return clear_dests(state, wave, inst);
  }
}

void ProvenanceObserver::finish_cross_lane(WaveState& state, const Wave& wave, const Inst& inst) {
  Tag row[kLanes] = {};
  Tags& tags = words_->tags();
  for (uint32_t rest = wave.exec(); state.kept_any && rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint32_t value = wave.v(inst.dst).lane[lane];
    for (unsigned l = 0; l < kLanes; ++l)
      if (state.kept_values[l] == value) row[lane] = tags.unite(row[lane], state.kept[l]);
  }
  state.kept_any = false;
  set_vector(state, inst.dst, wave.exec(), row);
}

void ProvenanceObserver::after_tagged(TagRule rule, WaveState& state, const Wave& wave,
                                      const Inst& inst) {
  if (rule == TagRule::kCrossLane) return finish_cross_lane(state, wave, inst);
  const unsigned dwords = emulator::op_info(inst.op).dst_dwords;
  const bool sum = relation_at(inst) == TagRelation::kSum;
  const auto narrow = [&](Tag tag, uint32_t value) {
    if (sum && value + 16 < 32) words_->cancel(tag);
    return words_->narrow(tag, value);
  };
  for (unsigned d = 0; d < dwords; ++d) {
    const unsigned code = inst.dst + d;
    if (!tagging::is_tagged(state, code)) continue;
    if (code < kFirstVector) {
      set_scalar(state, code, narrow(state.scalar[code], wave.sgpr[code]));
      continue;
    }
    Tag row[kLanes];
    const Tag* const tags = state.vector[code - kFirstVector];
    const emulator::Row& values = wave.v(static_cast<uint16_t>(code));
    Tag all = 0;
    for (unsigned l = 0; l < kLanes; ++l) all |= tags[l];
    const bool plain = Tags::is_single(all) && !Tags::is_weak(all);
    for (unsigned l = 0; plain && l < kLanes; ++l)
      row[l] = Provenance::ends(values.lane[l]) ? 0 : tags[l];
    for (unsigned l = 0; !plain && l < kLanes; ++l) row[l] = narrow(tags[l], values.lane[l]);
    set_vector(state, code, wave.exec(), row);
  }
}

// ---- memory ----

bool ProvenanceObserver::has_no_tags(WaveState& state, const emulator::MemoryEvent& event,
                                     uint32_t lanes) {
  if (event.space == Space::kLds) return state.lds == nullptr || state.lds->empty();
  if (event.space == Space::kScratch) return state.scratch.empty();
  const uint64_t first = event.address[std::countr_zero(lanes)];
  const unsigned last_byte = event.access_bytes - 1U;
  uint64_t differ = 0;  // bits of addresses
  if (lanes == ~0U) {
    for (unsigned l = 0; l < kLanes; ++l)
      differ |= (event.address[l] ^ first) | ((event.address[l] + last_byte) ^ first);
  } else {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint64_t address = event.address[std::countr_zero(rest)];
      differ |= (address ^ first) | ((address + last_byte) ^ first);
    }
  }
  return words_->memory().has_none(first, differ);
}

Tag ProvenanceObserver::tag_at(WaveState& state, const Wave& wave,
                               const emulator::MemoryEvent& event, unsigned lane, unsigned dword) {
  const uint64_t address = event.address[lane];
  switch (event.space) {
    case Space::kGlobal: return words_->memory().get(address + 4 * dword);
    case Space::kLds: {
      const uint64_t at = (address + 4 * dword) / 4;
      return state.lds == nullptr || at >= state.lds->size() ? 0 : (*state.lds)[at];
    }
    case Space::kScratch: {
      const uint64_t at = (address - wave.scratch_base) / 4 + dword * (wave.scratch_row / 4);
      return at >= state.scratch.size() ? 0 : state.scratch[at];
    }
  }
  return 0;
}

void ProvenanceObserver::load(WaveState& state, const Wave& wave, const Inst& inst,
                              const emulator::MemoryEvent& event, uint32_t lanes) {
  const unsigned count = (event.access_bytes + 3U) / 4;
  // FLAT lanes in several apertures have an event each, for the same registers.
  const unsigned first = inst.format == Format::kDs ? state.dwords : 0;
  if (has_no_tags(state, event, lanes)) {
    for (; state.dwords < std::min(first + count, WaveState::kMost); ++state.dwords)
      state.loaded_lanes[state.dwords] = 0;
    return;
  }
  for (unsigned d = 0; d < count && first + d < WaveState::kMost; ++d) {
    const unsigned at = first + d;
    if (at == state.dwords) {
      ++state.dwords;
      state.loaded_lanes[at] = 0;
    }
    state.loaded_lanes[at] |= lanes;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      Tag tag = tag_at(state, wave, event, lane, d);
      if (tag != 0) {
        words_->read(tag);
        if (event.access_bytes < 4) tag = words_->tags().weaken(tag);
        state.pending = true;
      }
      state.loaded[at][lane] = tag;
    }
  }
}

void ProvenanceObserver::store(WaveState& state, const Wave& wave, const Inst& inst,
                               const emulator::MemoryEvent& event, uint32_t lanes) {
  const bool atomic = event.kind == emulator::AccessKind::kAtomic;
  const bool keeps = atomic && !replaces(inst.op);
  const bool second = inst.format == Format::kDs && state.events > 1 && inst.src[2] < 512;
  const unsigned data = second ? inst.src[2] : inst.src[1];
  const unsigned bytes = std::min<unsigned>(4, event.access_bytes);
  Tags& tags = words_->tags();
  bool any = false;
  for (unsigned d = 0; d < (event.access_bytes + 3U) / 4; ++d)
    any = any || tagging::is_tagged(state, data + d);
  if (!any && has_no_tags(state, event, lanes)) return;
  for (unsigned d = 0; d < (event.access_bytes + 3U) / 4; ++d) {
    const bool tagged = data < 512 && tagging::is_tagged(state, data + d);
    if (keeps && !tagged) continue;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      Tag tag = tagged ? tag_of(state, data + d, lane) : 0;
      if (keeps) tag = tags.unite(tag, tag_at(state, wave, event, lane, d));
      if (event.space == Space::kGlobal) {
        words_->memory().store(event.address[lane] + 4 * d, bytes, tag);
        continue;
      }
      const bool lds = event.space == Space::kLds;
      if (lds && state.lds == nullptr) continue;
      std::vector<Tag>& cells = lds ? *state.lds : state.scratch;
      if (cells.empty()) {
        if (tag == 0) continue;
        cells.resize(lds ? wave.group->lds_bytes / 4 : wave.scratch_bytes / 4);
      }
      const uint64_t at =
          lds ? (event.address[lane] + 4 * d) / 4
              : (event.address[lane] - wave.scratch_base) / 4 + d * (wave.scratch_row / 4);
      if (at >= cells.size()) continue;
      const bool whole = bytes == 4 && event.address[lane] % 4 == 0;
      cells[at] = whole ? tag : tags.unite(tags.weaken(cells[at]), tags.weaken(tag));
    }
  }
}

void ProvenanceObserver::reach(WaveState& state, const Wave& wave, const Inst& inst,
                               const emulator::MemoryEvent& event, uint32_t lanes) {
  unsigned base = operand::kNone;
  switch (inst.format) {
    case Format::kGlobal: base = inst.src[2] != operand::kNone ? inst.src[2] : inst.src[0]; break;
    case Format::kFlat: base = inst.src[0]; break;
    case Format::kMubuf:
    case Format::kMtbuf: base = inst.sdst; break;
    default: return;
  }
  if (base + 1 >= 512) return;
  if (!tagging::is_tagged(state, base + 1)) {
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    return words_->untraced(event.address[first], inst.pc);
  }
  const auto any_lane = static_cast<unsigned>(std::countr_zero(lanes));
  if (words_->is_proven(tag_of(state, base + 1, any_lane)) && (lanes & ~wave.exec()) == 0 &&
      same_in_lanes(state, wave, base + 1))
    return;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Tag high = tag_of(state, base + 1, lane);
    if (high == 0)
      words_->untraced(event.address[lane], inst.pc);
    else
      words_->reach(high, tag_of(state, base, lane), event.address[lane]);
  }
}

uint32_t ProvenanceObserver::memory(WaveState& state, const Wave& wave, const Inst& inst,
                                    const emulator::MemoryEvent& event) {
  const uint32_t lanes = event.exec & event.in_range & ~event.other_space;
  if (lanes == 0) return event.exec;
  if (order_ != nullptr && event.space == Space::kGlobal) order_->access(event, lanes);
  // A texel is converted on its way: no address is followed through an image.
  if (words_ == nullptr || inst.format == Format::kMimg) return event.exec;
  ++state.events;
  if (event.space == Space::kGlobal) reach(state, wave, inst, event, lanes);
  if (event.kind != emulator::AccessKind::kStore) load(state, wave, inst, event, lanes);
  if (event.kind != emulator::AccessKind::kLoad) store(state, wave, inst, event, lanes);
  return event.exec;
}

bool ProvenanceObserver::scalar_load(WaveState& state, const Wave&, const Inst& inst,
                                     const emulator::ScalarEvent& event) {
  if (!event.mapped) return true;
  if (order_ != nullptr) order_->read(event.address, event.bytes);
  if (words_ == nullptr) return true;
  if (const Tag high = tag_of(state, inst.src[0] + 1U, 0))
    words_->reach(high, tag_of(state, inst.src[0], 0), event.address);
  else
    words_->untraced(event.address, inst.pc);
  for (uint32_t at = 0; at + 4 <= event.bytes && state.dwords < WaveState::kMost; at += 4) {
    const Tag tag = words_->memory().get(event.address + at);
    if (tag != 0) {
      words_->read(tag);
      state.pending = true;
    }
    state.loaded[state.dwords++][0] = tag;
  }
  return true;
}

void ProvenanceObserver::finish_load(WaveState& state, const Wave& wave, const Inst& inst) {
  clear_dests(state, wave, inst);
  const bool pending = state.pending;
  state.pending = false;
  if (!pending || inst.dst == operand::kNone) return;
  const unsigned dwords = std::min<unsigned>(state.dwords, emulator::op_info(inst.op).dst_dwords);
  for (unsigned d = 0; d < dwords; ++d) {
    const unsigned code = inst.dst + d;
    if (code < kFirstVector) {
      if (code < 128) set_scalar(state, code, words_->narrow(state.loaded[d][0], wave.sgpr[code]));
      continue;
    }
    if (code >= 512) return;
    const emulator::Row& values = wave.v(static_cast<uint16_t>(code));
    Tag row[kLanes] = {};
    for (uint32_t rest = state.loaded_lanes[d] & wave.exec(); rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      row[lane] = words_->narrow(state.loaded[d][lane], values.lane[lane]);
    }
    set_vector(state, code, wave.exec(), row);
  }
}

}  // namespace gfxgraph::lanecheck
