// Remembers the addresses of buffers that the program freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "check/report/finding.h"

namespace gfxgraph::check {

// Each byte belongs to the buffer that was freed last. Concurrent find() calls are safe if no
// thread calls add().
class FreedRanges {
 public:
  // If there are too many ranges, the one with the lowest address is dropped.
  void add(NearestBuffer buffer);
  // The freed buffer that held the byte; null: none. Valid until the next add().
  const NearestBuffer* find(uint64_t address) const noexcept;

 private:
  static constexpr size_t kMost = 1 << 16;
  struct Range {
    uint64_t end = 0;
    NearestBuffer buffer;
  };
  std::map<uint64_t, Range> ranges_;  // by first byte; no overlaps
};

}  // namespace gfxgraph::check
