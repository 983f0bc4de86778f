// What a bucket has done so far. Any thread counts and reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "gfxgraph/production.h"
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

// Runs and what belongs to them are counted under the bucket's lock.
struct BucketCounts {
  std::array<Count, GFXGRAPH_WAYS> runs{};
  std::array<Count, GFXGRAPH_FALLS> falls{};
  Count captures{0};
  Count work_failures{0};
  Count failures{0};
  Count rows{0};
  Count padded_rows{0};
  std::array<Count, GFXGRAPH_VALIDATIONS> validations{};
  Count untimed{0};
  Histogram submit;
  Histogram end_to_end;
};

// Counts of one bucket or several at one time.
struct BucketSums {
  gfxgraph_bucket_info_t info{};  // without what only a bucket itself knows, and latencies
  Durations submit;
  Durations end_to_end;

  void add(const BucketCounts& counts, uint64_t row_bytes) noexcept {
    const auto now = [](const Count& one) { return one.load(std::memory_order_relaxed); };
    for (size_t i = 0; i < counts.runs.size(); ++i) info.runs[i] += now(counts.runs[i]);
    for (size_t i = 0; i < counts.falls.size(); ++i) info.falls[i] += now(counts.falls[i]);
    for (size_t i = 0; i < counts.validations.size(); ++i)
      info.validations[i] += now(counts.validations[i]);
    const uint64_t padded = now(counts.padded_rows);
    info.captures += now(counts.captures);
    info.work_failures += now(counts.work_failures);
    info.failures += now(counts.failures);
    info.rows += now(counts.rows);
    info.padded_rows += padded;
    info.padded_bytes += padded * row_bytes;
    info.untimed += now(counts.untimed);
    submit.add(counts.submit);
    end_to_end.add(counts.end_to_end);
  }
};

}  // namespace gfxgraph::replayer
