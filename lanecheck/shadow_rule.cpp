#include "lanecheck/shadow_rule.h"

#include "emulator/decode/operand_uses.h"

namespace gfxgraph::lanecheck {
namespace {

using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;
using emulator::VopExtra;

using emulator::operand::kVgpr0;

// How many dwords of a destination kind the instruction writes.
struct DestKinds {
  unsigned vector = 0;
  unsigned scalar = 0;
};
DestKinds dest_kinds(const InstOperands& operands) {
  DestKinds kinds;
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    const OperandRef& dest = operands.dest[n];
    (dest.code >= kVgpr0 ? kinds.vector : kinds.scalar) += dest.dwords;
  }
  return kinds;
}

unsigned dwords_of(const OperandRef* list, unsigned count) {
  unsigned dwords = 0;
  for (unsigned n = 0; n < count; ++n) dwords += list[n].dwords;
  return dwords;
}

// A destination that keeps a part of its old value is also listed as a source. The part that is
// written counts: code that fills a register half by half starts with an undefined one.
void drop_kept_parts(const Inst& inst, InstOperands& operands) {
  const bool keeps = (emulator::op_info(inst.op).flags & emulator::OpInfo::kDstIsSource) != 0;
  if (!keeps || inst.dst < kVgpr0 || inst.op == Op::v_swap_b32) return;
  unsigned kept = 0;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    if (operands.source[n].code != inst.dst) operands.source[kept++] = operands.source[n];
  }
  operands.source_count = static_cast<uint8_t>(kept);
}

ShadowRule rule_for(const Inst& inst, const InstOperands& operands) {
  const DestKinds kinds = dest_kinds(operands);
  if (kinds.vector + kinds.scalar == 0) return ShadowRule::kNone;
  switch (inst.op) {
    case Op::v_readlane_b32:
    case Op::v_readfirstlane_b32: return ShadowRule::kReadLane;
    case Op::v_writelane_b32: return ShadowRule::kWriteLane;
    case Op::v_mad_u64_u32:
    case Op::v_mad_i64_i32:
    case Op::v_lshlrev_b64: return ShadowRule::kWide;
    case Op::v_swap_b32: return ShadowRule::kSwap;
    // In a wave64 they run once for both halves.
    case Op::ds_append:
    case Op::ds_consume: return ShadowRule::kCrossLane;
    case Op::v_cndmask_b32:
      return inst.extra() == VopExtra::kNone ? ShadowRule::kSelect : ShadowRule::kVector;
    default: break;
  }
  if (emulator::has_relative_registers(inst)) return ShadowRule::kRelative;
  if (emulator::permutes_lanes(inst)) return ShadowRule::kCrossLane;
  if (inst.format == Format::kSmem) return ShadowRule::kDefined;
  if (inst.format == Format::kMubuf || inst.format == Format::kMtbuf ||
      inst.format == Format::kFlat || inst.format == Format::kScratch) {
    return ShadowRule::kLoad;
  }
  if (kinds.vector == 0) {
    return emulator::is_vector_alu(inst.format) ? ShadowRule::kLaneMask : ShadowRule::kScalar;
  }
  const bool one = kinds.vector == 1 && dwords_of(operands.source, operands.source_count) <= 3;
  if (kinds.scalar != 0) {
    const bool carry = one && operands.dest_count == 2 && kinds.scalar == 1 &&
                       operands.dest[1].code == inst.dst && inst.dst >= kVgpr0;
    return carry ? ShadowRule::kMixedOne : ShadowRule::kMixed;
  }
  return one && operands.dest_count == 1 ? ShadowRule::kVectorOne : ShadowRule::kVector;
}

}  // namespace

ShadowRule shadow_rule(const Inst& inst, InstOperands& operands) {
  drop_kept_parts(inst, operands);
  return rule_for(inst, operands);
}

RelativeRegisters relative_registers(const Inst& inst, uint32_t m0) {
  const bool split = inst.op == Op::v_movrelsd_2_b32 || inst.op == Op::s_movrelsd_2_b32 ||
                     inst.op == Op::v_swaprel_b32;
  const bool moves_dest = split || inst.op == Op::v_movreld_b32 || inst.op == Op::v_movrelsd_b32 ||
                          inst.op == Op::s_movreld_b32 || inst.op == Op::s_movreld_b64;
  const bool moves_source = split || inst.op == Op::v_movrels_b32 ||
                            inst.op == Op::v_movrelsd_b32 || inst.op == Op::s_movrels_b32 ||
                            inst.op == Op::s_movrels_b64;
  const uint32_t source = inst.src[0] + (moves_source ? (split ? m0 & 0x3ff : m0) : 0);
  const uint32_t dest = inst.dst + (moves_dest ? (split ? m0 >> 16 & 0x3ff : m0) : 0);
  return {static_cast<uint16_t>(source), static_cast<uint16_t>(dest)};
}

uint32_t packed_sources(const InstOperands& operands) {
  uint32_t packed = kAlwaysDefined | kAlwaysDefined << 9 | kAlwaysDefined << 18;
  unsigned count = 0;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    for (unsigned d = 0; d < operands.source[n].dwords && count < 3; ++d, ++count) {
      packed &= ~(511u << (9 * count));
      packed |= ((operands.source[n].code + d) & 511u) << (9 * count);
    }
  }
  return packed;
}

}  // namespace gfxgraph::lanecheck
