// What instructions do to EXEC and to masks of lanes, and what comparisons tell.
#include <algorithm>

#include "footprint/flow.h"

namespace gfxgraph::footprint {
namespace {

using emulator::Inst;
using emulator::Op;
using emulator::OpInfo;
namespace operand = emulator::operand;

enum class Does : uint8_t { kNothing, kCopy, kAnd, kAndNot, kOr, kXor };
struct MaskOp {
  Does does = Does::kNothing;
  bool saves = false;  // EXEC, and combines it with the source
};

MaskOp mask_op(Op op, bool wave32) {
  switch (op) {
    case Op::s_mov_b32: return {wave32 ? Does::kCopy : Does::kNothing};
    case Op::s_mov_b64: return {wave32 ? Does::kNothing : Does::kCopy};
    case Op::s_and_b32: return {wave32 ? Does::kAnd : Does::kNothing};
    case Op::s_and_b64: return {wave32 ? Does::kNothing : Does::kAnd};
    case Op::s_andn2_b32: return {wave32 ? Does::kAndNot : Does::kNothing};
    case Op::s_andn2_b64: return {wave32 ? Does::kNothing : Does::kAndNot};
    case Op::s_or_b32: return {wave32 ? Does::kOr : Does::kNothing};
    case Op::s_or_b64: return {wave32 ? Does::kNothing : Does::kOr};
    case Op::s_xor_b32: return {wave32 ? Does::kXor : Does::kNothing};
    case Op::s_xor_b64: return {wave32 ? Does::kNothing : Does::kXor};
    case Op::s_and_saveexec_b32: return {wave32 ? Does::kAnd : Does::kNothing, true};
    case Op::s_and_saveexec_b64: return {wave32 ? Does::kNothing : Does::kAnd, true};
    case Op::s_andn2_saveexec_b32: return {wave32 ? Does::kAndNot : Does::kNothing, true};
    case Op::s_andn2_saveexec_b64: return {wave32 ? Does::kNothing : Does::kAndNot, true};
    case Op::s_or_saveexec_b32: return {wave32 ? Does::kOr : Does::kNothing, true};
    case Op::s_or_saveexec_b64: return {wave32 ? Does::kNothing : Does::kOr, true};
    default: return {};
  }
}

struct Comparison {
  Op op;
  enum class How : uint8_t { kLess, kMost, kEqual, kMore, kLeast } how;
  bool is_signed;
};
constexpr Comparison kComparisons[] = {
#define GFXGRAPH_COMPARISON(name, how)                         \
  {Op::s_cmp_##name##_i32, Comparison::How::how, true},        \
      {Op::s_cmp_##name##_u32, Comparison::How::how, false},   \
      {Op::s_cmpk_##name##_i32, Comparison::How::how, true},   \
      {Op::s_cmpk_##name##_u32, Comparison::How::how, false},  \
      {Op::v_cmp_##name##_i32, Comparison::How::how, true},    \
      {Op::v_cmp_##name##_u32, Comparison::How::how, false},   \
      {Op::v_cmpx_##name##_i32, Comparison::How::how, true}, { \
    Op::v_cmpx_##name##_u32, Comparison::How::how, false       \
  }
    GFXGRAPH_COMPARISON(lt, kLess),  GFXGRAPH_COMPARISON(le, kMost),
    GFXGRAPH_COMPARISON(eq, kEqual), GFXGRAPH_COMPARISON(gt, kMore),
    GFXGRAPH_COMPARISON(ge, kLeast),
#undef GFXGRAPH_COMPARISON
};

const Comparison* comparison_of(Op op) {
  const auto* const found = std::ranges::find(kComparisons, op, &Comparison::op);
  return found == std::end(kComparisons) ? nullptr : found;
}

}  // namespace

Mask Flow::mask_of(const Inst& inst, unsigned n, Lanes& lanes) const {
  const uint16_t code = inst.src[n];
  Mask mask;
  if (code == operand::kExecLo) {
    mask.within = lanes.level();
    mask.add({0, lanes.level()});
  } else if (operand::is_sgpr(code) && code != operand::kNull) {
    mask = lanes.mask(code);
  } else if (!operand::is_sgpr(code) && !operand::is_special(code) && inst.k[n] == 0) {
    mask.within = kNoLanes;
  }
  mask.carry = nullptr;
  return mask;
}

void Flow::set_mask(uint16_t code, Mask mask, Lanes& lanes) {
  write(code, Value::of(kAny32), lanes, kNoName);
  if (!input_.descriptor->wave32() && operand::is_sgpr(code) && code != operand::kNull)
    write(static_cast<uint16_t>(code + 1), Value::of(kAny32), lanes, kNoName);
  if (operand::is_sgpr(code) && code != operand::kNull && code != operand::kExecLo)
    lanes.mask(code) = std::move(mask);
}

std::optional<Mask> Flow::combined(const Inst& inst, Lanes& lanes) const {
  const MaskOp op = mask_op(inst.op, input_.descriptor->wave32());
  if (op.does == Does::kNothing || op.saves) return std::nullopt;
  const Mask a = mask_of(inst, 0, lanes);
  if (op.does == Does::kCopy) return a;
  const Mask b = mask_of(inst, 1, lanes);
  const bool known = a.within != 0 && b.within != 0;
  Mask mask;
  switch (op.does) {
    case Does::kAnd:
      // Within both; the levels are one in the other.
      mask.within = !known                                         ? a.within | b.within
                    : lanes.common(a.within, b.within) == a.within ? b.within
                                                                   : a.within;
      mask.conditions = a.conditions;
      mask.conditions.insert(mask.conditions.end(), b.conditions.begin(), b.conditions.end());
      if (mask.conditions.size() > 4) mask.conditions.resize(4);
      break;
    case Does::kAndNot:
      mask.within = a.within;
      mask.conditions = a.conditions;
      break;
    case Does::kOr:
      if (known) mask.within = lanes.common(a.within, b.within);
      for (const Mask::Fills& one : a.fills) mask.add(one);
      for (const Mask::Fills& one : b.fills) mask.add(one);
      break;
    case Does::kXor: {
      if (known) mask.within = lanes.common(a.within, b.within);
      // All lanes of a level but those that are active: together they fill it.
      const bool first = inst.src[0] == operand::kExecLo;
      const Mask& other = first ? b : a;
      if (!first && inst.src[1] != operand::kExecLo) break;
      for (const Mask::Fills& one : other.fills)
        if (one.of == 0 && one.all != 0 && one.all == other.within)
          mask.add({lanes.level(), one.all});
      break;
    }
    case Does::kNothing:
    case Does::kCopy: break;
  }
  return mask;
}

bool Flow::sets_exec(const Inst& inst, Lanes& lanes) {
  const OpInfo& info = emulator::op_info(inst.op);
  if ((info.flags & OpInfo::kCompares) != 0) return false;
  if (inst.dst != operand::kExecLo && inst.dst != operand::kExecHi &&
      (info.flags & OpInfo::kWritesExec) == 0)
    return false;
  const Level id = node_ + kFirstLevel + 1;
  const uint64_t names = name_of_join(node_, true);
  const MaskOp op = mask_op(inst.op, input_.descriptor->wave32());
  const Level now = lanes.level();
  if ((info.flags & OpInfo::kWritesScc) != 0) write_scc(lanes);
  const auto hold = [&](const Mask& mask) {
    for (const Condition& one : mask.conditions) lanes.apply(one, false);
  };
  if (op.saves) {
    const Mask mask = mask_of(inst, 0, lanes);
    Mask saved;
    saved.within = now;
    saved.add({0, now});
    set_mask(inst.dst, saved, lanes);
    switch (op.does) {
      case Does::kAnd:
        lanes.narrow(id);
        hold(mask);
        return true;
      case Does::kOr: lanes.set_exec(mask, true, id, names); return true;
      case Does::kAndNot: {
        lanes.set_exec_to_others(mask, id, names);
        // The saved lanes and the others are all of the level.
        if (mask.has({now, mask.within}) && inst.dst < kScalars)
          lanes.mask(inst.dst).add({lanes.level(), mask.within});
        return true;
      }
      default: break;
    }
  } else if (inst.dst == operand::kExecLo && op.does != Does::kNothing) {
    const Mask a = mask_of(inst, 0, lanes), b = mask_of(inst, 1, lanes);
    const bool first = inst.src[0] == operand::kExecLo;
    const bool either = first || inst.src[1] == operand::kExecLo;
    const Mask& other = first ? b : a;
    const uint16_t other_code = inst.src[first ? 1 : 0];
    const bool is_scalar = operand::is_sgpr(other_code) && other_code != operand::kNull;
    if (op.does == Does::kCopy) {
      lanes.set_exec(a, false, id, names);
      hold(a);
      return true;
    }
    if (op.does == Does::kOr && either) {
      lanes.set_exec(other, true, id, names);
      return true;
    }
    if (op.does == Does::kAnd && either) {
      lanes.narrow(id);
      hold(other);
      return true;
    }
    const bool takes_out = (op.does == Does::kAndNot && first) ||
                           (op.does == Does::kXor && either && lanes.is_within(other.within, now));
    if (takes_out) {
      lanes.narrow(id);
      // What was taken out and what is left are all of the level before, and of what both were.
      if (is_scalar) {
        Mask& taken = lanes.mask(other_code);
        const auto fills = taken.fills;
        taken.fills = {};
        taken.add({id, lanes.outer()});
        for (const Mask::Fills& one : fills)
          if (one.of == lanes.outer() || one.of == 0) taken.add({one.of == 0 ? 0 : id, one.all});
      }
      return true;
    }
  }
  lanes.set_exec_unknown(id, names);
  for (unsigned n = 0; n < nodes_[node_].operands.dest_count; ++n) {
    const emulator::OperandRef& to = nodes_[node_].operands.dest[n];
    if (to.code < kScalars && to.code != operand::kExecLo && to.code != operand::kExecHi)
      for (unsigned d = 0; d < to.dwords; ++d) {
        write(static_cast<uint16_t>(to.code + d), Value::of(kAny32), lanes, kNoName);
      }
  }
  return true;
}

std::vector<Condition> Flow::conditions(const Inst& inst, const Value& a, const Value& b) {
  using Is = Condition::Is;
  using How = Comparison::How;
  std::vector<Condition> result;
  const Comparison* const comparison = comparison_of(inst.op);
  if (comparison == nullptr) return result;
  const bool is_signed = comparison->is_signed;
  const Is less = is_signed ? Is::kLessSigned : Is::kLess;
  const Is least = is_signed ? Is::kAtLeastSigned : Is::kAtLeast;
  const int64_t most = is_signed ? INT32_MAX : UINT32_MAX;
  const auto of = [&](const Value& value, Is is, const Range& other, int64_t more) {
    if (value.name == 0 || (value.origins & ~origin::kLoaded) != 0) return;
    Range limit = is_signed ? signed32(other) : unsigned32(other);
    if (limit.high + more > most) {
      if (is == less || limit.low + more > most) return;
      limit.high = most - more;
    }
    limit.low += more;
    limit.high += more;
    result.push_back({value.name, is, limit});
    if (thresholds_.size() < 64)
      for (const int64_t at : {limit.low - 1, limit.low, limit.high - 1, limit.high})
        thresholds_.push_back(at);
  };
  const auto number = [](const Value& value) {
    return (value.origins & ~origin::kLoaded) == 0 ? value.number : kAny32;
  };
  const Range x = number(a), y = number(b);
  switch (comparison->how) {
    case How::kLess:
      of(a, less, y, 0);
      of(b, least, x, 1);
      break;
    case How::kMost:
      of(a, less, y, 1);
      of(b, least, x, 0);
      break;
    case How::kMore:
      of(a, least, y, 1);
      of(b, less, x, 0);
      break;
    case How::kLeast:
      of(a, least, y, 0);
      of(b, less, x, 1);
      break;
    case How::kEqual:
      of(a, Is::kEqual, y, 0);
      of(b, Is::kEqual, x, 0);
      break;
  }
  return result;
}

bool Flow::compares(const Inst& inst, Lanes& lanes) {
  const OpInfo& info = emulator::op_info(inst.op);
  const bool vector = (info.flags & OpInfo::kCompares) != 0;
  if (!vector && comparison_of(inst.op) == nullptr) return false;
  const bool plain = !vector || ((inst.mods & emulator::vmod::kAny) == 0 &&
                                 inst.extra() == emulator::VopExtra::kNone);
  std::vector<Condition> held;
  if (plain && comparison_of(inst.op) != nullptr) {
    const bool short_form = inst.format == emulator::Format::kSopk;
    const Value b = short_form ? Value::of(Range::exactly(comparison_of(inst.op)->is_signed
                                                              ? inst.imm
                                                              : static_cast<uint16_t>(inst.imm)))
                               : source(inst, 1, lanes);
    held = conditions(inst, source(inst, 0, lanes), b);
  }
  if (!vector) {
    write_scc(lanes);
    lanes.mask(kScc).conditions = std::move(held);
    return true;
  }
  if ((info.flags & OpInfo::kWritesExec) != 0) {
    lanes.narrow(node_ + kFirstLevel + 1);
    for (const Condition& one : held) lanes.apply(one, false);
    return true;
  }
  Mask mask;
  mask.within = lanes.level();
  mask.conditions = std::move(held);
  set_mask(inst.dst, std::move(mask), lanes);
  return true;
}

}  // namespace gfxgraph::footprint
