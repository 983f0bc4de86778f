// The ways of a bucket that are left, the preferred one first; at last the caller's function.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "gfxgraph/production.h"

namespace gfxgraph::replayer {

class WayOrder {
 public:
  // What falls to what.
  static constexpr std::array<uint32_t, 4> kAll = {GFXGRAPH_WAY_PACKETS, GFXGRAPH_WAY_GRAPH,
                                                   GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER};
  static constexpr uint32_t bit(uint32_t way) { return 1u << way; }

  // `first` and what it falls to.
  static WayOrder from(uint32_t first) {
    WayOrder order;
    const auto* const begin = std::ranges::find(kAll, first);
    for (const auto* way = begin; way != kAll.end(); ++way) order.add(*way);
    return order;
  }
  // Those of `bits`, as steps: a graph is preferred, packets are last.
  static WayOrder of(uint32_t bits) {
    WayOrder order;
    for (const uint32_t way :
         {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER, GFXGRAPH_WAY_PACKETS}) {
      if ((bits & bit(way)) != 0) order.add(way);
    }
    return order;
  }

  // GFXGRAPH_WAY_WORK: none is left.
  uint32_t front() const { return count_ == 0 ? uint32_t{GFXGRAPH_WAY_WORK} : ways_[0]; }
  std::span<const uint32_t> all() const { return {ways_.data(), count_}; }
  bool has(uint32_t way) const { return std::ranges::find(all(), way) != all().end(); }
  void remove(uint32_t way) {
    auto* const end = ways_.begin() + count_;
    count_ = static_cast<uint32_t>(std::remove(ways_.begin(), end, way) - ways_.begin());
  }
  void prefer(uint32_t way) {
    auto* const end = ways_.begin() + count_;
    auto* const found = std::find(ways_.begin(), end, way);
    if (found != end) std::rotate(ways_.begin(), found, found + 1);
  }

 private:
  void add(uint32_t way) { ways_[count_++] = way; }

  std::array<uint32_t, kAll.size()> ways_{};
  uint32_t count_ = 0;
};

}  // namespace gfxgraph::replayer
