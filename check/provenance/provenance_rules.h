// Classifies what instructions do to the tags of recorded words (provenance_observer.h).
#pragma once

#include <cstdint>

#include "emulator/engine/context.h"

namespace gfxgraph::check {

// What an instruction does to tags; chosen when the instruction is decoded.
enum class TagRule : uint32_t {
  kClear,         // results are not part of an address
  kCombine,       // results come from all sources; kStrong bits: those that remain strong
  kMove,          // copies the first source's dwords
  kSelect,        // v_cndmask
  kScalarSelect,  // s_cselect
  kConditional,   // s_cmov
  kReadLane,
  kWriteLane,
  kCrossLane,  // lanes read other lanes
  kSwap,
  kRelative,  // registers indexed by M0
  kCompare,
  kJump,  // to an address in registers
  kVectorMemory,
  kScalarLoad,
};
inline constexpr unsigned kTagRules = static_cast<unsigned>(TagRule::kScalarLoad) + 1;

TagRule tag_rule_of(const emulator::Inst& inst);

// kCombine: mask (bits 0 to 2) of the sources whose address the result keeps.
uint32_t strong_sources(const emulator::Inst& inst);

// How an instruction relates two sources that it compares or subtracts.
emulator::Relation relation_of(const emulator::Inst& inst);

// Whether the third source is a carry.
bool has_carry_in(emulator::Op op);

}  // namespace gfxgraph::check
