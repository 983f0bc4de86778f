// Determines which launches of a trace are unordered: stream order, the null stream, events, graph
// edges, and host knowledge at the time of a call. Like replayer/dag.h, from the trace alone.
#pragma once

#include <cstdint>
#include <vector>

#include "format/reader.h"

namespace gfxgraph::lanecheck {

struct LaunchOrder {
  // For each launch (graph nodes counted singly), the earlier ones that it does not follow; at most
  // kMostUnordered, the latest.
  static constexpr size_t kMostUnordered = 256;
  std::vector<std::vector<uint64_t>> unordered;
  // Every earlier launch comes before it and all later ones.
  std::vector<bool> after_all;
  bool limited = false;  // some launch had more
};

// Of a trace whose graphs are as the format says (their dependencies point back).
LaunchOrder order_launches(const format::Trace& trace);

}  // namespace gfxgraph::lanecheck
