// Classifies how instructions change the shadow of registers: which register lanes are defined.
#pragma once

#include <cstdint>

#include "emulator/engine/observer.h"

namespace gfxgraph::check {

// A shadow index that is not a register and always defined: the operand code of the constant 0.
inline constexpr uint32_t kAlwaysDefined = 128;

// How an instruction changes the shadow; chosen when the instruction is decoded.
enum class ShadowRule : uint32_t {
  kNone,       // no register result
  kVector,     // VGPRs: defined where all sources are
  kVectorOne,  // the same with one result and at most three source dwords: the usual case
  kLoadedOne,  // the same from memory that is not scratch
  kMixedOne,   // one VGPR and a lane mask, at most three source dwords (v_add_co)
  kScalar,     // SGPRs: defined if all sources are
  kDefined,    // SGPRs loaded from memory or hardware registers: defined
  kLaneMask,   // SGPRs with a bit per lane (v_cmp): a bit is defined where the lane's sources are
  kMixed,      // VGPRs and a lane mask
  kLoad,       // VGPRs from memory that may be scratch
  kReadLane,   // reads one lane of a VGPR
  kWriteLane,  // writes one lane of a VGPR
  kCrossLane,  // lanes read other lanes (cross_lane.h), or all one value (ds_append)
  kSelect,     // v_cndmask: as the selected source
  kRelative,   // registers indexed by M0
  kSwap,       // exchanges two VGPRs
  kWide,       // 64-bit result whose low half does not depend on the sources' high halves
  kRun,        // a vector ALU instruction, the end of a run of instructions (shadow_run.h)
  kRunLate,    // the same for other instructions, whose shadow changes only after them
};
inline constexpr unsigned kShadowRules = static_cast<unsigned>(ShadowRule::kRunLate) + 1;

// The rule of an instruction. Removes from `operands` a source that does not count: a destination
// that keeps part of its old value.
ShadowRule shadow_rule(const emulator::Inst& inst, emulator::InstOperands& operands);

// kRelative: operand codes of the source and destination, with M0 added. The source may be a
// constant. Callers must check the range of both.
struct RelativeRegisters {
  uint16_t source, dest;
};
RelativeRegisters relative_registers(const emulator::Inst& inst, uint32_t m0);

constexpr bool has_packed_sources(ShadowRule rule) {
  return rule == ShadowRule::kVectorOne || rule == ShadowRule::kLoadedOne ||
         rule == ShadowRule::kMixedOne;
}
// The operand codes of their three sources, 9 bits each.
uint32_t packed_sources(const emulator::InstOperands& operands);

}  // namespace gfxgraph::check
