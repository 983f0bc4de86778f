// Determines which work of a trace is unordered: stream order, the null stream, events, graph
// edges, and host knowledge at the time of a call. Like replayer/dag.h, from the trace alone.
#pragma once

#include <cstdint>
#include <vector>

#include "format/reader.h"

namespace gfxgraph::lanecheck {

// Graph nodes count singly, each time the graph is launched.
struct WorkOrder {
  // For each work, the earlier work that it does not follow; at most kMostUnordered, the latest.
  static constexpr size_t kMostUnordered = 256;
  std::vector<std::vector<uint64_t>> unordered;
  // Everything earlier comes before it and all later work.
  std::vector<bool> after_all;
  // Something, earlier or later, is unordered with it.
  std::vector<bool> apart;
  // A launch that was given memory of the host, or may have found its address: it may tell the host
  // that it, and what it follows, has come this far.
  std::vector<bool> reaches_host;
  bool limited = false;  // some work had more

  // For each HostWrite, in the order of the trace: launches (by number of work) that were given the
  // memory before the program wrote it, and that no call had told the program to have ended.
  std::vector<std::vector<uint64_t>> host_writes;
};

// Of a trace whose graphs are as the format says (their dependencies point back).
// Work: launches only, without `host_writes`.
WorkOrder order_launches(const format::Trace& trace);
// Work: launches, copies and memsets.
WorkOrder order_work(const format::Trace& trace);

}  // namespace gfxgraph::lanecheck
