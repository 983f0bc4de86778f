// Finds where a sequence of tokens repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gfxgraph::ranges {

// tokens[i] == tokens[i + period] for all i with begin <= i and i + period < end. No longer stretch
// around it repeats so, and `period` is the smallest one that it has.
struct Repeat {
  size_t begin = 0;
  size_t end = 0;
  size_t period = 0;
  bool operator==(const Repeat&) const = default;
};

// All stretches of at least `times` (2 or more) periods, ordered by begin, then period: fewer than
// there are tokens (Bannai et al., "The Runs Theorem"). Time n log n, about 100 bytes per token.
std::vector<Repeat> find_repeats(std::span<const uint32_t> tokens, size_t times);

}  // namespace gfxgraph::ranges
