// What instructions do to the tags of recorded words (provenance_observer.h); decided when they are
// decoded.
#pragma once

#include <cstdint>

#include "emulator/engine/context.h"

namespace gfxgraph::lanecheck {

// What an instruction does to tags; chosen when it is decoded.
enum class TagRule : uint32_t {
  kClear,         // its results are no part of an address
  kCombine,       // results come from all sources; which ones stay what they are: kStrong bits
  kMove,          // the first source's dwords
  kSelect,        // v_cndmask
  kScalarSelect,  // s_cselect
  kConditional,   // s_cmov
  kReadLane,
  kWriteLane,
  kCrossLane,  // lanes read other lanes
  kSwap,
  kRelative,  // registers that M0 chooses
  kCompare,
  kJump,  // through a register
  kVectorMemory,
  kScalarLoad,
};
inline constexpr unsigned kTagRules = static_cast<unsigned>(TagRule::kScalarLoad) + 1;

TagRule tag_rule_of(const emulator::Inst& inst);

// kCombine: the sources of which a result keeps the address, by number: bits 0 to 2.
uint32_t strong_sources(const emulator::Inst& inst);

// What two sources say of each other that are compared or subtracted.
enum class TagRelation : uint8_t {
  kNone,
  kLoose,  // parts of them, or bit by bit
  kLower,  // dwords, which may be the lower halves of addresses
  kUpper,  // the upper halves, behind a subtraction of the lower ones
  kWhole,  // both halves
  kSum,    // upper halves, of which one may be negated: a difference where the result is small
};
TagRelation relation_of(const emulator::Inst& inst);

// The third source is a carry.
bool has_carry_in(emulator::Op op);
// An atomic that replaces the whole value.
bool replaces(emulator::Op op);

}  // namespace gfxgraph::lanecheck
