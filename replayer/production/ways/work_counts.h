// What a piece of captured work has done so far. Any thread counts and reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "gfxgraph/flow.h"
#include "replayer/production/histogram.h"

namespace gfxgraph::replayer {

using Count = std::atomic<uint64_t>;

inline void count(Count& one, uint64_t more = 1) noexcept {
  one.fetch_add(more, std::memory_order_relaxed);
}

// Where the caller keeps other writers away, which costs a fifth of the above.
inline void count_alone(Count& one, uint64_t more = 1) noexcept {
  one.store(one.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// Of a run.
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

  // A run that succeeded. One thread at a time.
  void add_alone(const WorkResult& result, uint64_t nanoseconds) noexcept {
    count_alone(runs[result.way]);
    if (result.fall != GFXGRAPH_FALL_NONE) count_alone(falls[result.fall]);
    submit.add_alone(nanoseconds);
  }
  void add_failure(const WorkResult& result) noexcept {
    count(result.work_status != 0 ? work_failures : failures);
  }
};

// Adds what `from` has to the fields of a structure of the C ABI that have the same names.
template <typename Info>
void add_counts(const WorkCounts& from, Info& to) noexcept {
  for (size_t i = 0; i < from.runs.size(); ++i) to.runs[i] += from.runs[i];
  for (size_t i = 0; i < from.falls.size(); ++i) to.falls[i] += from.falls[i];
  to.captures += from.captures;
  to.work_failures += from.work_failures;
  to.failures += from.failures;
}

// Counts of one or several at one time.
struct WorkSums {
  gfxgraph_counts_t counts{};  // without latencies
  Durations submit;

  void add(const WorkCounts& more) noexcept {
    add_counts(more, counts);
    submit.add(more.submit);
  }
};

}  // namespace gfxgraph::replayer
