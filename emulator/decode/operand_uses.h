// The register uses of an instruction that its operand list (observer.h) does not contain.
#pragma once

#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {

inline bool is_vector_alu(Format format) {
  return format >= Format::kVop1 && format <= Format::kVop3p;
}
// Lanes get values from lanes that the instruction itself chooses: permutations, swizzles, DPP. Not
// v_readlane, v_readfirstlane and v_writelane.
bool permutes_lanes(const Inst& inst) noexcept;
// It reads or writes registers whose numbers come from M0.
bool has_relative_registers(const Inst& inst) noexcept;

}  // namespace gfxgraph::emulator
