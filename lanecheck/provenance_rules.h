// Classifies what instructions do to the tags of recorded words (provenance_observer.h).
#pragma once

#include <cstdint>

#include "emulator/engine/context.h"

namespace gfxgraph::lanecheck {

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
enum class TagRelation : uint8_t {
  kNone,
  kLoose,  // parts of them, or bitwise
  kLower,  // dwords that may be the lower halves of addresses
  kUpper,  // the upper halves, after a subtraction of the lower ones
  kWhole,  // both halves
  kSum,    // a sum of upper halves, one perhaps negated: a difference if the result is small
};
TagRelation relation_of(const emulator::Inst& inst);

// Whether the third source is a carry.
bool has_carry_in(emulator::Op op);
// Whether it is an atomic that replaces the whole value.
bool replaces(emulator::Op op);

}  // namespace gfxgraph::lanecheck
