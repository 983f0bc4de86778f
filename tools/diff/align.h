// Finds corresponding elements of two sequences: a longest common subsequence, by Myers' method
// ("An O(ND) Difference Algorithm and Its Variations", 1986).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gfxgraph::tools {

struct Alignment {
  // Indices into both, rising in both.
  std::vector<std::pair<size_t, size_t>> pairs;
  bool given_up = false;  // only what both begin and end with was aligned
};

// `most_edits`: maximum number of insertions and deletions together; memory grows with its square,
// 4 bytes each.
Alignment align(std::span<const uint32_t> first, std::span<const uint32_t> second,
                size_t most_edits = 4000);

}  // namespace gfxgraph::tools
