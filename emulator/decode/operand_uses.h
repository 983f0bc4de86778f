// The register uses of an instruction that its operand list (observer.h) does not contain.
#pragma once

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

[[gnu::always_inline]] inline bool is_vector_alu(Format format) {
  return format >= Format::kVop1 && format <= Format::kVop3p;
}
// Lanes get values from lanes that the instruction itself chooses: permutations, swizzles, DPP. Not
// v_readlane, v_readfirstlane and v_writelane.
inline bool permutes_lanes(const Inst& inst) {
  const Dataflow flow = op_info(inst.op).dataflow;
  if (flow == Dataflow::kPermute || flow == Dataflow::kPermuteByLanes) return true;
  return is_vector_alu(inst.format) && inst.format != Format::kVop3p &&
         (inst.extra() == VopExtra::kDpp16 || inst.extra() == VopExtra::kDpp8);
}
// It reads or writes registers whose numbers come from M0.
inline bool has_relative_registers(const Inst& inst) {
  const Dataflow flow = op_info(inst.op).dataflow;
  return has_relative_source(flow) || has_relative_dest(flow);
}

}  // namespace gfxgraph::emulator
