// What a check looks for, and what it may cost.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "check/budget.h"
#include "check/report/selection.h"

namespace gfxgraph::check {

enum class MaskedLaneMode : uint8_t {
  kOff,      // inactive lanes are not checked
  kWarn,     // W1 is a warning
  kError,    // W1 is an error
  kLiteral,  // the literal rule: W1, I1 and I2 are errors
};
// Parses "off", "warn", "error" or "literal"; else kInvalidArgument.
Result<MaskedLaneMode> parse_masked_lane_mode(std::string_view text);

struct CheckOptions {
  SelectionOptions selection;
  MaskedLaneMode masked_lane = MaskedLaneMode::kWarn;
  bool strict = false;   // warnings are errors
  unsigned threads = 0;  // of the emulator; 0: as many as cores
  // End a launch after this many wave instructions in which no wave finishes. A launch in which no
  // wave can make progress ends immediately.
  uint64_t livelock_instructions = uint64_t{1} << 31;
  // Track all registers, not only those that can reach an address: slower, with the same findings.
  // For tests.
  bool watch_all = false;
  BudgetLimits limits;
  LaunchProgress progress = {};
};

}  // namespace gfxgraph::check
