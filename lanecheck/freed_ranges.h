// Remembers the addresses of buffers that the program freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

// Each byte belongs to the buffer that was freed last. Not thread-safe; readers may share it while
// nobody adds.
class FreedRanges {
 public:
  // Ranges below the others are dropped first when there are too many.
  void add(NearestBuffer buffer);
  // The freed buffer that held the byte; null when there is none.
  const NearestBuffer* find(uint64_t address) const noexcept;

 private:
  static constexpr size_t kMost = 1 << 16;
  struct Range {
    uint64_t end = 0;
    NearestBuffer buffer;
  };
  std::map<uint64_t, Range> ranges_;  // by first byte; no overlaps
};

}  // namespace gfxgraph::lanecheck
