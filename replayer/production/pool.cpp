#include "replayer/production/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replayer/production/measure/stopwatch.h"

namespace gfxgraph::replayer {

Pool::Pool(std::unique_ptr<const PoolSettings> settings, std::shared_ptr<const HipLibrary> library,
           int device)
    : work_(std::move(settings), std::move(library), device) {
  for (const uint64_t size : this->settings().sizes)
    buckets_.push_back(std::make_unique<Bucket>(work_, bucket_count(), size));
}

Result<void> Pool::run(const Run& run, gfxgraph_pool_result_t& result) {
  const Stopwatch watch;
  const std::vector<uint64_t>& sizes = settings().sizes;
  const auto chosen =
      static_cast<size_t>(std::ranges::lower_bound(sizes, run.size) - sizes.begin());
  const bool beyond = chosen == buckets_.size();
  if (beyond && !settings().beyond_allowed) {
    return fail(Status::kNotFound,
                fmt::format("{} rows: the largest bucket of pool {} has {}; add a larger one, or "
                            "allow them (GFXGRAPH_BEYOND_WORK)",
                            run.size, settings().name, sizes.back()));
  }
  result.bucket = beyond ? GFXGRAPH_BUCKET_BEYOND : static_cast<uint32_t>(chosen);
  result.bucket_size = beyond ? 0 : sizes[chosen];
  BucketCounts& counts = beyond ? beyond_ : buckets_[chosen]->counts();
  RunResult done;
  const Result<void> ran = beyond ? run_beyond(run, done) : buckets_[chosen]->run(run, done);
  result.way = done.way;
  result.fall = done.fall;
  result.work_status = done.work_status;
  result.validation = done.validation;
  if (!ran) [[unlikely]] {
    count_failure(counts, done);
    return ran;
  }
  count(counts.runs[done.way]);
  if (done.fall != GFXGRAPH_FALL_NONE) count(counts.falls[done.fall]);
  if (done.validation != GFXGRAPH_VALIDATION_NONE) count(counts.validations[done.validation]);
  count(counts.rows, run.size);
  count(counts.padded_rows, done.padded_rows);
  counts.submit.add(watch.nanoseconds());
  return {};
}

Result<void> Pool::run_beyond(const Run& run, RunResult& result) {
  result.fall = GFXGRAPH_FALL_BEYOND;
  if (!beyond_told_.exchange(true)) {
    const std::string text = reason(GFXGRAPH_BUCKET_BEYOND, settings().first_way);
    gfxgraph_fall_t told{};
    told.struct_size = sizeof told;
    told.bucket = GFXGRAPH_BUCKET_BEYOND;
    told.way = settings().first_way;
    told.next_way = GFXGRAPH_WAY_WORK;
    told.fall = GFXGRAPH_FALL_BEYOND;
    told.text = text.c_str();
    work_.tell(told);
  }
  if (run.timed) count(beyond_.untimed);  // runs beyond share nothing, so no events either
  result.work_status = work_.call(run.size, run.memory, run.stream, false);
  if (result.work_status == 0) return {};
  return tl::unexpected<Error>(work_error(result.work_status, run.size));
}

void Pool::count_failure(BucketCounts& counts, const RunResult& result) const {
  count(result.work_status != 0 ? counts.work_failures : counts.failures);
}

Result<void> Pool::warm(hip::Stream stream) {
  if (std::ranges::none_of(buckets_, [](const auto& one) { return one->is_cold(); })) return {};
  for (const std::unique_ptr<Bucket>& bucket : buckets_) GFXGRAPH_TRY(bucket->allocate(stream));
  StateCopies states(work_);
  if (!settings().states.empty()) {
    if (std::optional<Refusal> refusal = states.allocate(StateCopies::Life::kPassing)) {
      return fail(refusal->passes ? Status::kNotReady : Status::kOutOfMemory,
                  fmt::format("{}: a warm-up puts the states back", refusal->text));
    }
  }
  Result<void> warmed = warm_all(stream, states);
  if (settings().states.empty()) return warmed;
  const Result<void> waited = library().wait_for(stream);  // the copies are in use
  return warmed ? waited : warmed;
}

Result<void> Pool::warm_all(hip::Stream stream, const StateCopies& states) {
  Result<void> first;
  for (const std::unique_ptr<Bucket>& bucket : buckets_) {
    RunResult done;
    Result<void> warmed = bucket->warm(stream, states, done);
    if (warmed) continue;
    count_failure(bucket->counts(), done);
    if (done.work_status == 0) return warmed;  // the device's: the others would fail, too
    if (first) first = std::move(warmed);
  }
  return first;
}

Result<void> Pool::check_bucket(uint32_t bucket) const {
  if (bucket < bucket_count() || bucket >= GFXGRAPH_BUCKET_BEYOND) return {};
  return fail(Status::kNotFound, fmt::format("bucket {} does not exist: pool {} has {}", bucket,
                                             settings().name, bucket_count()));
}

Result<void> Pool::recapture(uint32_t bucket) {
  if (bucket < bucket_count()) return buckets_[bucket]->recapture();
  return fail(Status::kNotFound, fmt::format("bucket {} cannot be captured again: pool {} has {}",
                                             bucket, settings().name, bucket_count()));
}

void Pool::add_up(uint32_t bucket, BucketSums& sums) {
  if (bucket == GFXGRAPH_BUCKET_BEYOND) {
    sums.add(beyond_, settings().row_bytes);
    sums.info.way = GFXGRAPH_WAY_WORK;
    return;
  }
  if (bucket == GFXGRAPH_BUCKET_ALL) {
    for (uint32_t i = 0; i < bucket_count(); ++i) add_up(i, sums);
    add_up(GFXGRAPH_BUCKET_BEYOND, sums);
    sums.info.size = 0;
    sums.info.way = settings().first_way;
    sums.info.choice = GFXGRAPH_CHOICE_NONE;
    std::ranges::fill(sums.info.figures, gfxgraph_way_figures_t{});
    return;
  }
  Bucket& one = *buckets_[bucket];
  one.collect_timings();
  sums.add(one.counts(), settings().row_bytes);
  sums.info.size = one.size();
  sums.info.way = one.next_way();
  sums.info.choice = one.choice().state();
  for (uint32_t way = 0; way < GFXGRAPH_WAYS; ++way)
    sums.info.figures[way] = one.choice().figures(way);
  sums.info.device_bytes += one.device_bytes();
}

std::string Pool::reason(uint32_t bucket, uint32_t way) const {
  if (bucket < bucket_count()) return buckets_[bucket]->reason(way);
  if (bucket != GFXGRAPH_BUCKET_BEYOND || way == GFXGRAPH_WAY_WORK || way == GFXGRAPH_WAY_CAPTURE)
    return {};
  return fmt::format("runs of more than {} rows, the largest bucket of pool {}, go by the function",
                     settings().sizes.back(), settings().name);
}

}  // namespace gfxgraph::replayer
