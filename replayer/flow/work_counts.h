// What a piece of work has done so far. Any thread counts and reads.
#pragma once

#include <array>

#include "gfxgraph/flow.h"
#include "replayer/production/bucket_counts.h"
#include "replayer/production/measure/stopwatch.h"

namespace gfxgraph::replayer {

struct WorkResult {
  uint32_t way = GFXGRAPH_WAY_WORK;
  uint32_t fall = GFXGRAPH_FALL_NONE;
  int32_t work_status = 0;
};

struct WorkCounts {
  std::array<Count, GFXGRAPH_WAYS> runs{};
  std::array<Count, GFXGRAPH_FALLS> falls{};
  Count captures{0};
  Count work_failures{0};
  Count failures{0};
  Histogram submit;
};

// Counts of one or several at one time.
struct WorkSums {
  gfxgraph_counts_t counts{};  // without latencies
  Durations submit;

  void add(const WorkCounts& more) noexcept {
    for (size_t i = 0; i < more.runs.size(); ++i) counts.runs[i] += more.runs[i];
    for (size_t i = 0; i < more.falls.size(); ++i) counts.falls[i] += more.falls[i];
    counts.captures += more.captures;
    counts.work_failures += more.work_failures;
    counts.failures += more.failures;
    submit.add(more.submit);
  }
};

}  // namespace gfxgraph::replayer
