#include "check/lanes/shadow_rule.h"

#include "emulator/decode/operand_uses.h"

namespace gfxgraph::check {
namespace {

using emulator::Dataflow;
using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
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
  const bool swaps = emulator::op_info(inst.op).dataflow == Dataflow::kSwap;
  if (!keeps || inst.dst < kVgpr0 || swaps) return;
  unsigned kept = 0;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    if (operands.source[n].code != inst.dst) operands.source[kept++] = operands.source[n];
  }
  operands.source_count = static_cast<uint8_t>(kept);
}

ShadowRule rule_for(const Inst& inst, const InstOperands& operands) {
  const DestKinds kinds = dest_kinds(operands);
  if (kinds.vector + kinds.scalar == 0) return ShadowRule::kNone;
  switch (emulator::op_info(inst.op).dataflow) {
    case Dataflow::kReadLane: return ShadowRule::kReadLane;
    case Dataflow::kWriteLane: return ShadowRule::kWriteLane;
    case Dataflow::kLowHalves: return ShadowRule::kWide;
    case Dataflow::kSwap: return ShadowRule::kSwap;
    case Dataflow::kFromRelative:
    case Dataflow::kToRelative:
    case Dataflow::kRelative:
    case Dataflow::kRelativeHalves:
    case Dataflow::kRelativeSwap: return ShadowRule::kRelative;
    // A counter: in a wave64 it is read once for both halves.
    case Dataflow::kCounter:
    case Dataflow::kPermute:
    case Dataflow::kPermuteByLanes: return ShadowRule::kCrossLane;
    case Dataflow::kSelect:
      if (!emulator::is_vector_alu(inst.format) || inst.extra() != VopExtra::kNone) break;
      return ShadowRule::kSelect;
    case Dataflow::kAll:
    case Dataflow::kCopy:
    case Dataflow::kConditionalCopy: break;
  }
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
  if (!one || operands.dest_count != 1) return ShadowRule::kVector;
  return emulator::is_vector_alu(inst.format) ? ShadowRule::kVectorOne : ShadowRule::kLoadedOne;
}

}  // namespace

ShadowRule shadow_rule(const Inst& inst, InstOperands& operands) {
  drop_kept_parts(inst, operands);
  return rule_for(inst, operands);
}

RelativeRegisters relative_registers(const Inst& inst, uint32_t m0) {
  const Dataflow flow = emulator::op_info(inst.op).dataflow;
  const bool split = flow == Dataflow::kRelativeHalves || flow == Dataflow::kRelativeSwap;
  const uint32_t source = inst.src[0] + (has_relative_source(flow) ? split ? m0 & 0x3ff : m0 : 0);
  const uint32_t dest = inst.dst + (has_relative_dest(flow) ? split ? m0 >> 16 & 0x3ff : m0 : 0);
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

}  // namespace gfxgraph::check
