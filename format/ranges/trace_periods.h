// Steps of a program that marks none: stretches of a trace whose device work repeats.
#pragma once

#include <cstdint>
#include <vector>

#include "format/ranges/range_parameters.h"
#include "format/ranges/trace_ranges.h"
#include "format/read/reader.h"

namespace gfxgraph::ranges {

// Launches are numbered through the trace from 0: kernel launches and graph launches of the stream,
// without the nodes of graphs. Kernels are numbered as gfxgraph-record --launches does, which
// counts a graph launch with its kernel nodes.
struct Period {
  uint64_t repeats = 0;       // at least kLeastRepeats
  uint64_t works = 0;         // of each: launches, copies, memsets, host functions
  uint64_t launches = 0;      // of each, at least 1
  uint64_t first_launch = 0;  // of the first repetition
  uint64_t last_launch = 0;   // of the last repetition
  uint64_t kernels = 0;       // of each
  uint64_t first_kernel = 0;  // of the first repetition
  uint64_t first_event = 0;   // of the first repetition: its first work
  uint64_t last_event = 0;    // of the last repetition: its last work
  uint64_t covers = 0;        // works of all repetitions
  std::vector<IterationSpan> iterations;
};

// Looked for where no range is open. Work of one kind on one stream (see WorkShapes) counts as
// equal. Of all stretches that repeat at least kLeastRepeats times, those that cover most work are
// taken first, of equal ones that with the longer period, which is never a multiple of a shorter
// one; then those beside them. So a step whose layers repeat is found as the step. Each has a
// launch, and covers at least 1 / kLeastPart of the work outside of ranges. At most kMostPeriods,
// in order.
//
// Where a period begins within a stretch cannot be known from what repeats. It begins after a wait
// of the host, if there is one at the same place of every repetition, else with the stretch.
// Iterations hold what stands between their works; the first one the host writes before it, too.
std::vector<Period> find_periods(const format::Trace& trace);
constexpr uint64_t kLeastRepeats = 3;
constexpr uint64_t kLeastPart = 20;
constexpr size_t kMostPeriods = 8;

// For compare_iterations(): "period 1" and so on, of shape 0.
std::vector<IterationGroup> group_periods(const std::vector<Period>& periods);

}  // namespace gfxgraph::ranges
