#include "check/provenance/provenance_rules.h"

#include "emulator/decode/operand_uses.h"

namespace gfxgraph::check {
namespace {

using emulator::Dataflow;
using emulator::FlowKind;
using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::OpInfo;
using emulator::Relation;
using emulator::Value;
using emulator::VopExtra;

bool is_memory(Format format) {
  switch (format) {
    case Format::kDs:
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch:
    case Format::kMubuf:
    case Format::kMtbuf:
    case Format::kMimg: return true;
    default: return false;
  }
}

// A vector instruction that takes parts of registers, or values of other lanes.
bool has_extra(const Inst& inst) {
  return emulator::is_vector_alu(inst.format) && inst.extra() != VopExtra::kNone;
}

// By the instruction's value alone.
TagRule calculation(const OpInfo& info) {
  switch (info.value) {
    case Value::kNumber: return TagRule::kClear;
    case Value::kComparison: return TagRule::kCompare;
    case Value::kBits: break;
  }
  return TagRule::kCombine;
}

}  // namespace

uint32_t strong_sources(const Inst& inst) {
  return has_extra(inst) ? 0 : emulator::op_info(inst.op).keeps;
}

bool has_carry_in(Op op) {
  const OpInfo& info = emulator::op_info(op);
  return info.wave64 == emulator::Wave64::kMasked && info.dataflow == Dataflow::kAll;
}

TagRule tag_rule_of(const Inst& inst) {
  const OpInfo& info = emulator::op_info(inst.op);
  if (info.flow == FlowKind::kIndirectJump || info.flow == FlowKind::kIndirectCall)
    return TagRule::kJump;
  const bool vector = emulator::is_vector_alu(inst.format);
  switch (info.dataflow) {
    case Dataflow::kConditionalCopy: return TagRule::kConditional;
    case Dataflow::kReadLane: return TagRule::kReadLane;
    case Dataflow::kWriteLane: return TagRule::kWriteLane;
    case Dataflow::kSwap: return TagRule::kSwap;
    case Dataflow::kFromRelative:
    case Dataflow::kToRelative:
    case Dataflow::kRelative:
    case Dataflow::kRelativeHalves:
    case Dataflow::kRelativeSwap: return TagRule::kRelative;
    case Dataflow::kPermute:
    case Dataflow::kPermuteByLanes: return TagRule::kCrossLane;
    case Dataflow::kCopy:
      if (!has_extra(inst)) return TagRule::kMove;
      return emulator::permutes_lanes(inst) ? TagRule::kCrossLane : TagRule::kCombine;
    case Dataflow::kSelect:
      if (!vector) return TagRule::kScalarSelect;
      return has_extra(inst) ? TagRule::kCombine : TagRule::kSelect;
    case Dataflow::kAll:
    case Dataflow::kLowHalves:
    case Dataflow::kCounter: break;
  }
  if (inst.format == Format::kSmem) return TagRule::kScalarLoad;
  return is_memory(inst.format) ? TagRule::kVectorMemory : calculation(info);
}

Relation relation_of(const Inst& inst) {
  const Relation relation = emulator::op_info(inst.op).relation;
  const bool parts = has_extra(inst) && relation != Relation::kNone && relation != Relation::kSum;
  return parts ? Relation::kLoose : relation;
}

}  // namespace gfxgraph::check
