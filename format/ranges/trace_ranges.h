// The ranges that the recorded program marked, and what each of them gave the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::ranges {

struct RangeSummary {
  std::string name;
  uint64_t ordinal = 0;      // among all ranges of this name that the program began
  uint32_t thread = 0;       // that began it
  uint64_t first_event = 0;  // the one that begins it
  uint64_t end_event = 0;    // the one that ends it, else the number of events
  bool ended = false;
  uint64_t span_ns = 0;  // host time
  // What stands between, of every thread. A graph launch counts once, with its nodes.
  uint64_t launches = 0;  // of kernels, graph nodes included
  uint64_t graph_launches = 0;
  uint64_t copies = 0;
  uint64_t copy_bytes = 0;
  uint64_t memsets = 0;
  uint64_t host_functions = 0;
  uint64_t host_writes = 0;
  uint64_t synchronizations = 0;
  uint64_t allocations = 0;
  // Ranges with one number gave the same streams the same kernels, copies and memsets in the same
  // order. Arguments, grids, sizes and addresses may differ. From 1, in order of appearance.
  uint32_t shape = 0;
};

// In the order in which they began.
std::vector<RangeSummary> summarize_ranges(const format::Trace& trace);

}  // namespace gfxgraph::ranges
