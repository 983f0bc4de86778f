// How a value of a step changes from iteration to iteration.
#pragma once

#include <cstdint>
#include <span>

#include "format/ranges/allocation_identity.h"

namespace gfxgraph::ranges {

enum class Pattern : uint8_t {
  kConstant,
  kStep,  // each is the one before it plus the same number
  kSwap,  // the same values in turn, seen at least twice: double buffers
  kFree,  // anything else
};

// A number, or a place in memory.
struct ParameterValue {
  MemoryKey memory = 0;  // 0: a number
  int64_t number = 0;    // for memory: the offset in bytes
  bool operator==(const ParameterValue&) const = default;
};

struct PatternMatch {
  Pattern pattern = Pattern::kConstant;
  int64_t step = 0;     // kStep: bytes if the values are memory; never 0
  uint64_t period = 0;  // kSwap: number of alternating values, at least 2
};

// `values` has one element per iteration, in order. Numbers count modulo 2^(8 * size_bytes), for
// size_bytes 1 to 8. Two iterations always show a step, because any two numbers differ by some
// step, so callers must report that there were only two. Memory steps only inside one allocation.
PatternMatch match_pattern(std::span<const ParameterValue> values, unsigned size_bytes);

// "constant", "step", "swap", "free".
const char* pattern_name(Pattern pattern);

}  // namespace gfxgraph::ranges
