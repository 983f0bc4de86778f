// What an instruction does to the shadow of registers: which register lanes hold a value.
#pragma once

#include <cstdint>

#include "emulator/engine/observer.h"

namespace gfxgraph::lanecheck {

// An index of the shadow that no register has and that is always defined: the source code of the
// constant 0.
inline constexpr uint32_t kAlwaysDefined = 128;

// How an instruction changes the shadow; chosen when it is decoded.
enum class ShadowRule : uint32_t {
  kNone,       // no register result
  kVector,     // VGPRs: defined where all sources are
  kVectorOne,  // the same with one result and at most three source dwords: the usual case
  kMixedOne,   // one VGPR and a lane mask, at most three source dwords (v_add_co)
  kScalar,     // SGPRs: defined if all sources are
  kDefined,    // SGPRs from memory or hardware: defined
  kLaneMask,   // SGPRs with a bit per lane (v_cmp): a bit is defined where the lane's sources are
  kMixed,      // VGPRs and a lane mask
  kLoad,       // VGPRs from memory that may be scratch
  kReadLane,   // one lane of a VGPR
  kWriteLane,  // one lane of a VGPR changes
  kCrossLane,  // lanes read other lanes: defined where the lane is active and all active sources
               // are
  kSelect,     // v_cndmask: the source that is chosen counts
  kRelative,   // registers that M0 chooses
  kSwap,       // two VGPRs change places
  kWide,       // 64-bit result whose low half does not depend on the sources' high halves
  kRun,        // the end of a run of instructions (shadow_run.h)
};
inline constexpr unsigned kShadowRules = static_cast<unsigned>(ShadowRule::kRun) + 1;

// The rule of an instruction. Takes from `operands` the sources that do not count: a destination
// that keeps a part of its old value.
ShadowRule shadow_rule(const emulator::Inst& inst, emulator::InstOperands& operands);

// kRelative: the numbers of the registers that are read and written, with M0 added. The source is
// `none` if it is no register.
struct RelativeRegisters {
  uint16_t source, dest;
};
RelativeRegisters relative_registers(const emulator::Inst& inst, uint32_t m0);

// kVectorOne, kMixedOne: the sources' three registers, 9 bits each.
uint32_t packed_sources(const emulator::InstOperands& operands);

}  // namespace gfxgraph::lanecheck
