// Which work of a trace needs which earlier work: of the order that the program asked for
// (order/stream_order.h), what footprints cannot prove to be without effect.
//
// Work keeps its order with earlier work
// - with which it conflicts: they may share a byte, and one of them writes it;
// - if one of them may access anything;
// - that the host had waited for before it issued the work, or that had told the host something
//   through memory that it can poll;
// - if a host function stands between them.
// Work that the program did not order stays without order. Memory is compared by the recorded
// addresses, so that an allocation in the place of a freed one waits for that one's users.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "footprint/launch.h"
#include "format/read/reader.h"
#include "order/needed_edges.h"

namespace gfxgraph::footprint {

struct Work {
  enum class Kind : uint8_t { kLaunch, kCopy, kMemset };
  Kind kind = Kind::kLaunch;
  uint64_t event = 0;           // its sequence number
  uint64_t launch = 0;          // kLaunch: its index among the launches
  format::KernelId kernel = 0;  // kLaunch
  uint32_t unknown = 0;         // index into NeededOrder::reasons + 1; 0: its footprint is known
  // Earlier work, reduced, rising.
  std::vector<uint32_t> recorded = {}, needed = {};
};

struct NeededOrder {
  std::vector<Work> work;  // in the order of issue; nodes of graphs count at each launch
  std::vector<std::string> reasons;
  uint64_t launches = 0;
  uint64_t edges_recorded = 0, edges_needed = 0;
  // In launches; the other kinds of work count as nothing.
  uint64_t longest_recorded = 0, longest_needed = 0;
  std::vector<uint32_t> longest;  // work of a longest needed chain
  // Launches at each distance from the beginning, by needed order: as many could run at a time.
  std::vector<uint64_t> width;
  uint64_t analysed = 0;                       // kernels with other grids or arguments
  std::vector<order::NeededEdges::Open> open;  // of `open` below, those that are no pointers
};

// A fault for tests: changes the footprint of each launch before it is used.
using PlantFault = std::function<void(const format::Launch&, LaunchFootprint&)>;

// The events must be loaded. kCorrupt if a graph, a copy or a memset does not fit the trace.
// `open`: by launch.
Result<NeededOrder> needed_order(const format::Trace& trace, const PlantFault& fault = {},
                                 std::span<const OpenArgument> open = {});
// For replays of it; without the identity of the program.
order::NeededEdges needed_edges(const NeededOrder& order);

}  // namespace gfxgraph::footprint
