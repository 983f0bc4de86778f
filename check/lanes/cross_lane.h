// Which lane each lane gets its value from, for the instructions of emulator::permutes_lanes().
//
// Source: RDNA2 ISA guide 6.6 "Data Parallel Processing", 10.3 "LDS instructions" (permutes and
// swizzle), 12 "V_PERMLANE16_B32".
#pragma once

#include <array>
#include <cstdint>

#include "emulator/decode/inst.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::check {

struct CrossLane {
  static constexpr uint8_t kNone = 255;  // a constant 0
  std::array<uint8_t, 32> from;
  uint32_t written = 0;  // lanes of the result
  // Lanes whose exchange names a lane past the wave, or an inactive one.
  uint32_t past = 0;
  uint32_t inactive = 0;
};

// Before the instruction runs. `inst` must be one that permutes_lanes().
CrossLane cross_lane(const emulator::Inst& inst, const emulator::Wave& wave);

// The source that moves between lanes: 0 or 1.
unsigned exchanged_source(const emulator::Inst& inst);

// v_readlane and v_writelane, which name one lane, active or not: whether that may be past the
// wave.
bool may_name_lane_past(const emulator::Inst& inst);

// Whether `past` or `inactive` can be set.
bool may_miss_lanes(const emulator::Inst& inst);
// In a wave whose lanes are all active, whatever they hold: whether neither can be set, and whether
// each lane is written.
bool misses_none_if_all_active(const emulator::Inst& inst);
bool writes_all_if_all_active(const emulator::Inst& inst);

}  // namespace gfxgraph::check
