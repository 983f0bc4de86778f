#include "check/lanes/bitwise.h"

namespace gfxgraph::check {

using emulator::FlowKind;
using emulator::Logic;
using emulator::OpInfo;

Bitwise bitwise(emulator::Op op) {
  const OpInfo& info = emulator::op_info(op);
  const Logic logic = info.logic;
  const bool ands = logic == Logic::kAnd || logic == Logic::kAndNot1 || logic == Logic::kAndNot2;
  const bool xors = logic == Logic::kXor;
  return {.kind = ands   ? Bitwise::Kind::kAnd
                  : xors ? Bitwise::Kind::kXor
                         : Bitwise::Kind::kOr,
          .invert_a = logic == Logic::kAndNot1 || logic == Logic::kOrNot1,
          .invert_b = logic == Logic::kAndNot2 || logic == Logic::kOrNot2,
          .dwords = info.dst_dwords,
          .saves_exec = (info.flags & OpInfo::kWritesExec) != 0};
}

bool is_branch(const emulator::Inst& inst) {
  const OpInfo& info = emulator::op_info(inst.op);
  const bool conditional = (info.flags & (OpInfo::kReadsScc | OpInfo::kReadsVcc)) != 0;
  return (info.flow == FlowKind::kBranch && conditional) || emulator::compares_exec(info);
}

}  // namespace gfxgraph::check
