#include "check/provenance/provenance_observer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "check/lanes/cross_lane.h"
#include "check/lanes/shadow_rule.h"
#include "emulator/decode/operand_uses.h"
#include "emulator/engine/wave64.h"

namespace gfxgraph::check {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::kLanes;
using emulator::Op;
using emulator::Relation;
using emulator::Space;
using emulator::VopExtra;
using emulator::Wave;
namespace operand = emulator::operand;

constexpr unsigned kFirstVector = operand::kVgpr0;

ProvenanceWave& half_of(ProvenanceWave& state, const Wave& wave, uint32_t lane) {
  const bool upper = wave.upper != nullptr && (lane & 32) != 0;
  return upper ? *static_cast<ProvenanceWave*>(wave.upper->observer_state) : state;
}

// The dwords of the operands if there are few, so that tests of them need no loops.
bool list_dwords(InstOperands& operands) {
  const InstOperands before = operands;
  const auto list = [](const emulator::OperandRef* from, unsigned count, emulator::OperandRef* to,
                       unsigned most) {
    unsigned dwords = 0;
    for (unsigned n = 0; n < count; ++n) {
      if (dwords + from[n].dwords > most) return false;
      for (unsigned d = 0; d < from[n].dwords; ++d) {
        to[dwords] = from[n];
        to[dwords].code = static_cast<uint16_t>(from[n].code + d);
        to[dwords++].dwords = 1;
      }
    }
    for (; dwords < most; ++dwords) to[dwords] = {.code = RegisterTags::kNoRegister};
    return true;
  };
  if (list(before.source, before.source_count, operands.source, ProvenanceObserver::kFewSources) &&
      list(before.dest, before.dest_count, operands.dest, ProvenanceObserver::kFewDests)) {
    operands.source_count = ProvenanceObserver::kFewSources;
    operands.dest_count = ProvenanceObserver::kFewDests;
    return true;
  }
  operands = before;
  return false;
}

// S_LOAD, for which scalar_loaded() is called.
bool is_scalar_load(Op op) {
  return op == Op::s_load_dword || op == Op::s_load_dwordx2 || op == Op::s_load_dwordx4 ||
         op == Op::s_load_dwordx8 || op == Op::s_load_dwordx16;
}

// Whether kPlain holds. If so, lists the sources that a result comes from, and a carry after the
// destination.
bool make_plain(const Inst& inst, InstOperands& operands) {
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  if (operands.dest[1].code == inst.dst) std::swap(operands.dest[0], operands.dest[1]);
  const bool third = inst.src[2] < RegisterTags::kNoRegister && !has_carry_in(inst.op);
  const bool vector = emulator::is_vector_alu(inst.format);
  if (vector ? inst.extra() != VopExtra::kNone || inst.dst < kFirstVector
             : inst.dst >= RegisterTags::kEndOfScalars)
    return false;
  if (info.dst_dwords != 1 || operands.dest[0].code != inst.dst ||
      (operands.dest[1].code != RegisterTags::kNoRegister && operands.dest[1].code >= kFirstVector))
    return false;
  const unsigned sources = third ? 3 : 2;
  for (unsigned n = 0; n < sources; ++n)
    if (info.src_dwords[n] > 1) return false;
  for (unsigned n = 0; n < ProvenanceObserver::kPlainSources; ++n)
    operands.source[n].code = n < sources
                                  ? std::min<uint16_t>(inst.src[n], RegisterTags::kNoRegister)
                                  : RegisterTags::kNoRegister;
  return true;
}

// The upper dword of the base of an access to global memory; kNoRegister: it has none.
unsigned base_of(const Inst& inst) {
  unsigned base = operand::kNone;
  switch (inst.format) {
    case Format::kGlobal: base = inst.src[2] != operand::kNone ? inst.src[2] : inst.src[0]; break;
    case Format::kFlat: base = inst.src[0]; break;
    case Format::kMubuf:
    case Format::kMtbuf: base = inst.sdst; break;
    default: break;
  }
  return std::min(base + 1, RegisterTags::kNoRegister);
}

}  // namespace

void ProvenanceObserver::decoded(const Inst& inst, InstOperands& operands) {
  const TagRule rule = tag_rule_of(inst);
  uint32_t extra = rule == TagRule::kCombine ? strong_sources(inst) : 0;
  extra |= static_cast<uint32_t>(relation_of(inst)) << kRelationShift;
  operands.hooked = words_ != nullptr && !is_scalar_load(inst.op) &&
                    (rule == TagRule::kVectorMemory || rule == TagRule::kJump ||
                     rule == TagRule::kCompare || operands.dest_count != 0);
  if (rule == TagRule::kVectorMemory) extra = base_of(inst) << kBaseShift;
  const bool few = list_dwords(operands);
  uint32_t kind = 2 * static_cast<uint32_t>(rule) + (few ? 1 : 0);
  if (few && rule == TagRule::kCombine && make_plain(inst, operands)) {
    extra |= kPlain;
    for (unsigned n = 0; n < kPlainSources; ++n)
      if ((extra >> n & 1) != 0)
        extra |= uint32_t{RegisterTags::kMixed} << (kStrongWorkShift + 2 * n);
    kind = emulator::is_vector_alu(inst.format) ? kPlainVector : kPlainScalar;
  }
  operands.user = kind << kKindShift | extra;
  // Registers that the instruction may tag.
  for (const unsigned code : {unsigned{inst.dst}, unsigned{inst.src[0]}})
    if (code >= kFirstVector && code < RegisterTags::kNoRegister)
      end_of_vectors_ = std::max(end_of_vectors_, code + WaveState::kMost);
  if (rule == TagRule::kRelative) end_of_vectors_ = RegisterTags::kNoRegister;
  end_of_vectors_ = std::min(end_of_vectors_, RegisterTags::kNoRegister);
}

void ProvenanceObserver::wave_begin(WaveState& state, const Wave& wave,
                                    const emulator::WaveInfo& info) {
  state.registers.reset(info.launched_lanes, end_of_vectors_, &wave.v(operand::kVgpr0));
  state.scratch.clear();
  state.dwords = state.events = 0;
  state.pending = false;
  state.scalars = nullptr;
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
  if (wave.first_lane != 0 || wave.group->lds_bytes == 0) return;
  const auto found = lds_.find(wave.group);
  if (found != lds_.end() && --found->second.waves == 0) lds_.erase(found);
}

void ProvenanceObserver::before_halves(WaveState& low, WaveState& high,
                                       const emulator::HalfPlan& plan) {
  for (unsigned n = 0; n < plan.copy_count; ++n)
    high.registers.set_scalar(plan.copies[n].to, low.registers.get(plan.copies[n].from, 0));
  for (unsigned n = 0; n < 3; ++n) {
    if ((plan.specials >> n & 1) == 0) continue;
    for (unsigned d = 0; d < 2; ++d) high.registers.set_scalar(plan.high->src[n] + d, 0);
  }
}

void ProvenanceObserver::after_halves(WaveState& low, WaveState&, const emulator::HalfPlan& plan) {
  if (plan.mask_result != emulator::HalfPlan::kNone) low.registers.set_scalar(plan.mask_result, 0);
}

// ---- registers ----

void ProvenanceObserver::clear_dests(WaveState& state, const Wave& wave, const Inst& inst) {
  const InstOperands& operands = emulator::operands_of(inst);
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    for (unsigned d = 0; d < operands.dest[n].dwords; ++d) {
      const unsigned code = operands.dest[n].code + d;
      if (code >= kFirstVector)
        state.registers.fill(code, wave.exec(), 0);
      else
        state.registers.set_scalar(code, 0);
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
      if (dword == 0 || dwords > 1) all = tags.unite(all, state.registers.get(code + dword, lane));
      continue;
    }
    if (wide && dword == 1 && product_is_small(wave, inst, lane)) continue;
    for (unsigned d = 0; d < dwords; ++d)
      all = tags.unite(all, tags.weaken(state.registers.get(code + d, lane)));
  }
  return all;
}

// Whether combined() gives the same for each active lane.
static bool combines_alike(const ProvenanceWave& state, const Wave& wave, const Inst& inst) {
  if (inst.extra() != VopExtra::kNone) return false;
  const bool wide = inst.op == Op::v_mad_u64_u32 || inst.op == Op::v_mad_i64_i32;
  // The values of the lanes decide.
  const auto any = [&](unsigned code) { return code < 512 && state.registers.any(code); };
  if (wide && (any(inst.src[0]) || any(inst.src[1]))) return false;
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  for (unsigned n = 0; n < 3; ++n)
    for (unsigned d = 0; d < std::max<unsigned>(1, info.src_dwords[n]); ++d)
      if (!state.registers.same_in(inst.src[n] + d, wave.exec())) return false;
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
    for (unsigned d = 0; d < dwords; ++d) state.registers.set_scalar(inst.dst + d, made[d]);
    return;
  }
  if (wave.exec() != 0 && combines_alike(state, wave, inst)) {
    const auto lane = static_cast<unsigned>(std::countr_zero(wave.exec()));
    Tag one[kMostDwords] = {};
    for (unsigned d = 0; d < dwords; ++d) one[d] = combined(state, wave, inst, d, lane);
    if (emulator::operands_of(inst).dest_count > 1) clear_dests(state, wave, inst);  // a carry
    for (unsigned d = 0; d < dwords; ++d) state.registers.fill(inst.dst + d, wave.exec(), one[d]);
    return;
  }
  Tag made[kMostDwords][kLanes] = {};
  const bool dpp = inst.extra() == VopExtra::kDpp16 || inst.extra() == VopExtra::kDpp8;
  const bool partial = inst.extra() == VopExtra::kSdwa;
  Tags& tags = words_->tags();
  Tag others = 0;  // of all lanes
  for (unsigned l = 0; dpp && l < kLanes; ++l)
    others = tags.unite(others, tags.weaken(state.registers.get(inst.src[0], l)));
  for (uint32_t rest = wave.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned d = 0; d < dwords; ++d) {
      made[d][lane] = tags.unite(combined(state, wave, inst, d, lane), others);
      if (partial)
        made[d][lane] =
            tags.unite(made[d][lane], tags.weaken(state.registers.get(inst.dst + d, lane)));
    }
  }
  clear_dests(state, wave, inst);
  for (unsigned d = 0; d < dwords; ++d) state.registers.set(inst.dst + d, wave.exec(), made[d]);
}

static Relation relation_at(const Inst& inst) {
  return static_cast<Relation>(emulator::operands_of(inst).user >>
                                   ProvenanceObserver::kRelationShift &
                               ProvenanceObserver::kRelations);
}

void ProvenanceObserver::relate(const WaveState& state, const Wave& wave, const Inst& inst) {
  const Relation relation = relation_at(inst);
  if (relation == Relation::kNone || relation == Relation::kSum) return;
  const unsigned upper = emulator::op_info(inst.op).src_dwords[0] > 1 ? 1 : 0;
  const unsigned a = inst.src[0], b = inst.src[1];
  if (std::max(a, b) + upper >= 512 || !state.registers.any(a + upper) ||
      !state.registers.any(b + upper))
    return;
  const auto side = [&](unsigned code, unsigned lane) {
    const auto value = [&](unsigned dword) {
      if (dword < kFirstVector) return wave.sgpr[dword];
      return wave.v(static_cast<uint16_t>(dword)).lane[lane];
    };
    Provenance::Side one;
    const bool high = relation == Relation::kWhole || relation == Relation::kUpper;
    if (high) {
      one.high = state.registers.get(code + upper, lane);
      one.high_value = value(code + upper);
    }
    if (!high || relation == Relation::kWhole) {
      one.low = state.registers.get(high ? code : code + upper, lane);
      one.low_value = value(high ? code : code + upper);
    }
    return one;
  };
  const bool vector = emulator::is_vector_alu(inst.format);
  Tag last_a = 0, last_b = 0;
  for (uint32_t rest = vector ? wave.exec() : 1; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Tag one = state.registers.get(a + upper, lane),
              other = state.registers.get(b + upper, lane);
    if (one == 0 || other == 0 || (one == last_a && other == last_b)) continue;
    words_->relate(relation, side(a, lane), side(b, lane));
    last_a = one;
    last_b = other;
  }
}

void ProvenanceObserver::move_relative(WaveState& state, const Wave& wave, const Inst& inst) {
  const RelativeRegisters at = relative_registers(inst, wave.sgpr[operand::kM0]);
  const emulator::OpInfo& info = emulator::op_info(inst.op);
  const bool wide = info.dst_dwords == 2;
  if (inst.dst < kFirstVector) {
    const Tag low = state.registers.get(at.source, 0),
              high = wide ? state.registers.get(at.source + 1U, 0) : 0;
    state.registers.set_scalar(at.dest, low);
    if (wide) state.registers.set_scalar(at.dest + 1U, high);
    return;
  }
  Tag source[kLanes], dest[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    source[l] = state.registers.get(at.source, l);
    dest[l] = state.registers.get(at.dest, l);
  }
  state.registers.set(at.dest, wave.exec(), source);
  if (info.dataflow == emulator::Dataflow::kRelativeSwap)
    state.registers.set(at.source, wave.exec(), dest);
}

void ProvenanceObserver::before_tagged(TagRule rule, WaveState& state, const Wave& wave,
                                       const Inst& inst) {
  const uint32_t exec = wave.exec();
  const unsigned dwords = std::max<unsigned>(1, emulator::op_info(inst.op).dst_dwords);
  const auto move = [&](unsigned from) {
    if (inst.dst >= kFirstVector) {
      Tag tag = 0;
      uint32_t lanes = 0;
      if (state.registers.one(from, tag, lanes))
        return state.registers.fill(inst.dst, exec, tag, lanes);
      Tag row[kLanes];
      for (unsigned l = 0; l < kLanes; ++l) row[l] = state.registers.get(from, l);
      state.registers.set(inst.dst, exec, row);
      return;
    }
    const Tag low = state.registers.get(from, 0),
              high = dwords > 1 ? state.registers.get(from + 1, 0) : 0;
    state.registers.set_scalar(inst.dst, low);
    if (dwords > 1) state.registers.set_scalar(inst.dst + 1U, high);
  };
  switch (rule) {
    case TagRule::kCombine: relate(state, wave, inst); return combine(state, wave, inst);
    case TagRule::kMove: return move(inst.src[0]);
    case TagRule::kConditional:
      if (wave.scc != 0) move(inst.src[0]);
      return;
    case TagRule::kScalarSelect:
      move(inst.src[wave.scc != 0 ? 0 : 1]);
      state.registers.set_scalar(operand::kNull, 0);
      return;
    case TagRule::kSelect: {
      const uint32_t bits =
          operand::is_sgpr(inst.src[2]) ? wave.sgpr[inst.src[2]] : static_cast<uint32_t>(inst.k[2]);
      Tag no = 0, yes = 0;
      uint32_t no_lanes = 0, yes_lanes = 0;
      if (state.registers.one(inst.src[0], no, no_lanes) &&
          state.registers.one(inst.src[1], yes, yes_lanes) && (no == yes || no == 0 || yes == 0))
        return state.registers.fill(inst.dst, exec, no | yes,
                                    (no_lanes & ~bits) | (yes_lanes & bits));
      Tag row[kLanes];
      for (unsigned l = 0; l < kLanes; ++l)
        row[l] = state.registers.get(inst.src[(bits >> l & 1) != 0 ? 1 : 0], l);
      return state.registers.set(inst.dst, exec, row);
    }
    case TagRule::kReadLane: {
      const uint64_t active =
          exec | (wave.upper != nullptr ? uint64_t{wave.upper->exec()} << 32 : 0);
      uint32_t lane = active == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(active));
      if (inst.op == Op::v_readlane_b32) lane = wave.read32(&inst, 1);
      const WaveState& half = half_of(state, wave, lane);
      return state.registers.set_scalar(inst.dst, half.registers.get(inst.src[0], lane & 31));
    }
    case TagRule::kWriteLane: {
      const uint32_t lane = wave.read32(&inst, 1);
      const Tag tag = state.registers.get(inst.src[0], 0);
      return half_of(state, wave, lane).registers.set_lane(inst.dst, lane & 31, tag);
    }
    case TagRule::kSwap: {
      Tag first[kLanes], second[kLanes];
      for (unsigned l = 0; l < kLanes; ++l) {
        first[l] = state.registers.get(inst.dst, l);
        second[l] = state.registers.get(inst.src[0], l);
      }
      state.registers.set(inst.dst, exec, second);
      return state.registers.set(inst.src[0], exec, first);
    }
    case TagRule::kRelative: return move_relative(state, wave, inst);
    case TagRule::kCompare: relate(state, wave, inst); return clear_dests(state, wave, inst);
    case TagRule::kJump:
      if (const Tag high = state.registers.get(inst.src[0] + 1U, 0)) words_->jump(high);
      return clear_dests(state, wave, inst);
    case TagRule::kCrossLane: {
      const unsigned from = inst.src[exchanged_source(inst)];
      state.kept_any = from >= kFirstVector && from < 512 && state.registers.any(from);
      for (unsigned l = 0; state.kept_any && l < kLanes; ++l) {
        state.kept[l] = state.registers.get(from, l);
        state.kept_values[l] = wave.v(static_cast<uint16_t>(from)).lane[l];
      }
      // Done later: the values tell where the lanes come from.
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
  state.registers.set(inst.dst, wave.exec(), row);
}

void ProvenanceObserver::after_tagged(TagRule rule, WaveState& state, const Wave& wave,
                                      const Inst& inst) {
  if (rule == TagRule::kCrossLane) return finish_cross_lane(state, wave, inst);
  const unsigned dwords = emulator::op_info(inst.op).dst_dwords;
  const bool sum = relation_at(inst) == Relation::kSum;
  const auto narrow = [&](Tag tag, uint32_t value) {
    if (sum && value + 16 < 32) words_->cancel(tag);
    return words_->narrow(tag, value);
  };
  for (unsigned d = 0; d < dwords; ++d) {
    const unsigned code = inst.dst + d;
    if (code >= RegisterTags::kNoRegister || !state.registers.any(code)) continue;
    if (code < kFirstVector) {
      state.registers.set_scalar(code, narrow(state.registers.get(code, 0), wave.sgpr[code]));
      continue;
    }
    const emulator::Row& values = wave.v(static_cast<uint16_t>(code));
    Tag tag = 0;
    uint32_t lanes = 0;
    if (state.registers.one(code, tag, lanes) && Tags::is_single(tag) && !Tags::is_weak(tag)) {
      bool some = false;
      for (unsigned l = 0; l < kLanes; ++l) some |= Tags::ends(values.lane[l]);
      if (!some) continue;
      uint32_t ended = 0;
      for (unsigned l = 0; l < kLanes; ++l) ended |= Tags::ends(values.lane[l]) ? 1U << l : 0;
      ended &= wave.exec();
      if (ended != 0) state.registers.fill(code, ended, 0);
      continue;
    }
    Tag row[kLanes];
    for (unsigned l = 0; l < kLanes; ++l)
      row[l] = narrow(state.registers.get(code, l), values.lane[l]);
    state.registers.set(code, wave.exec(), row);
  }
}

}  // namespace gfxgraph::check
