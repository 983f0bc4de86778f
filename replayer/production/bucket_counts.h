// What a bucket has done so far. Any thread counts and reads.
#pragma once

#include "gfxgraph/production.h"
#include "replayer/production/ways/work_counts.h"

namespace gfxgraph::replayer {

// Runs and what belongs to them are counted under the bucket's lock.
struct BucketCounts : WorkCounts {
  Count rows{0};
  Count padded_rows{0};
  std::array<Count, GFXGRAPH_VALIDATIONS> validations{};
  Count untimed{0};
  Histogram end_to_end;
};

// Counts of one bucket or several at one time.
struct BucketSums {
  gfxgraph_bucket_info_t info{};  // without what only a bucket itself knows, and latencies
  Durations submit;
  Durations end_to_end;

  void add(const BucketCounts& counts, uint64_t row_bytes) noexcept {
    const auto now = [](const Count& one) { return one.load(std::memory_order_relaxed); };
    add_counts(counts, info);
    for (size_t i = 0; i < counts.validations.size(); ++i)
      info.validations[i] += now(counts.validations[i]);
    const uint64_t padded = now(counts.padded_rows);
    info.rows += now(counts.rows);
    info.padded_rows += padded;
    info.padded_bytes += padded * row_bytes;
    info.untimed += now(counts.untimed);
    submit.add(counts.submit);
    end_to_end.add(counts.end_to_end);
  }
};

}  // namespace gfxgraph::replayer
