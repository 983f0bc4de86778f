// Determines which work of a trace is unordered, by order/stream_order.h and what the host may have
// read or written meanwhile.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::check {

// Each node of a graph counts as work, each time the graph is launched.
struct WorkOrder {
  // For each work, the earlier work that it is unordered with; at most the latest kMostUnordered.
  static constexpr size_t kMostUnordered = 256;
  std::vector<std::vector<uint64_t>> unordered;
  // All earlier work is ordered before it and before all later work.
  std::vector<bool> after_all;
  // Some earlier or later work is unordered with it.
  std::vector<bool> apart;
  // A launch that got the address of host memory, or may have found it: it can signal to the host
  // that it and the work before it have come this far.
  std::vector<bool> reaches_host;
  bool limited = false;  // some work had more than kMostUnordered

  // The work numbers of allocations and frees of stream-ordered memory (order_work() only), by
  // allocation; and all of them. Not of a free for which the host waits.
  std::unordered_map<format::AllocationId, uint64_t> allocated, freed;
  std::unordered_set<uint64_t> lifetimes;

  // For each HostWrite, in trace order: the launches (by work number) that had the memory's address
  // and that the program had not waited for when it wrote.
  std::vector<std::vector<uint64_t>> host_writes;
};

// Requires graphs as the format defines them (dependencies are earlier nodes). Counts only launches
// as work. Leaves `host_writes` empty.
WorkOrder order_launches(const format::Trace& trace);
// Counts launches, copies, memsets, and allocations and frees of stream-ordered memory as work.
WorkOrder order_work(const format::Trace& trace);

}  // namespace gfxgraph::check
