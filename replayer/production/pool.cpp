#include "replayer/production/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gfxgraph::replayer {

Pool::Pool(std::unique_ptr<const PoolSettings> settings, std::shared_ptr<const HipLibrary> library,
           const HipDevice& device)
    : work_(std::move(settings), std::move(library), device.ordinal),
      facts_(environment_facts(work_.library(), device)) {
  const auto add = [&](uint64_t max_length) {
    for (const uint64_t size : this->settings().sizes)
      buckets_.push_back(
          std::make_unique<Bucket>(work_, BucketShape{bucket_count(), size, max_length}));
  };
  for (const uint64_t max_length : this->settings().decode.max_lengths) add(max_length);
  if (buckets_.empty()) add(0);
}

uint32_t Pool::choose_bucket(const Run& run) const {
  const auto first_of = [](const std::vector<uint64_t>& all, uint64_t least) {
    return static_cast<size_t>(std::ranges::lower_bound(all, least) - all.begin());
  };
  const std::vector<uint64_t>& sizes = settings().sizes;
  const std::vector<uint64_t>& lengths = settings().decode.max_lengths;
  const size_t size = first_of(sizes, run.size);
  if (lengths.empty()) [[likely]]
    return static_cast<uint32_t>(size);
  const size_t length = first_of(lengths, run.decode->max_length);
  const bool beyond = size == sizes.size() || length == lengths.size();
  return beyond ? bucket_count() : static_cast<uint32_t>(size + length * sizes.size());
}

// What the largest bucket has.
std::string Pool::largest() const {
  const std::string rows = fmt::format("{}", settings().sizes.back());
  if (settings().decode.max_lengths.empty()) return rows;
  return fmt::format("{}, and sequences of {}", rows, settings().decode.max_lengths.back());
}

Result<void> Pool::run(const Run& run, gfxgraph_pool_result_t& result) {
  const uint32_t chosen = choose_bucket(run);
  const bool beyond = chosen == buckets_.size();
  if (beyond && !settings().beyond_allowed) {
    return fail(Status::kNotFound,
                fmt::format("{} rows: the largest bucket of pool {} has {}; add a larger one, or "
                            "allow them (GFXGRAPH_BEYOND_WORK)",
                            run.size, settings().name, largest()));
  }
  result.bucket = beyond ? GFXGRAPH_BUCKET_BEYOND : chosen;
  result.bucket_size = beyond ? 0 : buckets_[chosen]->size();
  BucketCounts& counts = beyond ? beyond_ : buckets_[chosen]->counts();
  RunResult done;
  const Result<void> ran = beyond ? run_beyond(run, done) : buckets_[chosen]->run(run, done);
  result.way = done.way;
  result.fall = done.fall;
  result.work_status = done.work_status;
  result.validation = done.validation;
  if (done.validation != GFXGRAPH_VALIDATION_NONE) count(counts.validations[done.validation]);
  if (!ran) [[unlikely]] {
    counts.add_failure(done);
    return ran;
  }
  if (!beyond) [[likely]]
    return {};
  count(counts.runs[done.way]);
  count(counts.falls[done.fall]);
  count(counts.rows, run.size);
  counts.submit.add(run.watch.nanoseconds());
  return {};
}

Result<void> Pool::run_beyond(const Run& run, RunResult& result) {
  result.fall = GFXGRAPH_FALL_BEYOND;
  if (!beyond_told_.exchange(true)) {
    const std::string text = reason(GFXGRAPH_BUCKET_BEYOND, settings().ways.first);
    gfxgraph_fall_t told{};
    told.struct_size = sizeof told;
    told.bucket = GFXGRAPH_BUCKET_BEYOND;
    told.way = settings().ways.first;
    told.next_way = GFXGRAPH_WAY_WORK;
    told.fall = GFXGRAPH_FALL_BEYOND;
    told.text = text.c_str();
    work_.tell(told);
  }
  if (run.timed) count(beyond_.untimed);  // runs beyond share nothing, so no events either
  std::vector<void*> memory;
  if (run.decode != nullptr) {
    if (!run.decode->on_device) {
      return fail(Status::kUnsupported,
                  "a run beyond the largest bucket has no memory for lengths and block tables of "
                  "the host: give them in device memory (on_device)");
    }
    memory.assign(run.memory, run.memory + settings().own_tensors());
    memory.push_back(const_cast<int32_t*>(run.decode->lengths));
    memory.push_back(const_cast<int32_t*>(run.decode->block_table));
  }
  result.work_status =
      work_.call(run.size, run.decode != nullptr ? run.decode->max_length : 0,
                 run.decode != nullptr ? memory.data() : run.memory, run.stream, false);
  if (result.work_status == 0) return {};
  return tl::unexpected<Error>(work_error(result.work_status, run.size));
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
    bucket->counts().add_failure(done);
    if (done.work_status == 0) return warmed;  // the device's: the others would fail, too
    if (first) first = std::move(warmed);
  }
  return first;
}

Result<std::vector<gfxgraph_baked_t>> Pool::lint(uint32_t bucket, hip::Stream stream,
                                                 const Vary& vary, int32_t& work_status) {
  if (bucket >= bucket_count()) GFXGRAPH_TRY(no_bucket(bucket));
  StateCopies states(work_);
  if (const std::optional<Refusal> refusal = states.allocate(StateCopies::Life::kPassing)) {
    return fail(Status::kOutOfMemory,
                fmt::format("{}: a lint puts the states back", refusal->text));
  }
  Result<std::vector<gfxgraph_baked_t>> found =
      buckets_[bucket]->lint(stream, vary, states, work_status);
  GFXGRAPH_TRY(library().wait_for(stream));  // the copies are in use
  return found;
}

Result<void> Pool::no_bucket(uint32_t bucket) const {
  return fail(Status::kNotFound, fmt::format("bucket {} does not exist: pool {} has {}", bucket,
                                             settings().name, bucket_count()));
}

Result<void> Pool::check_bucket(uint32_t bucket) const {
  if (bucket < bucket_count() || bucket >= GFXGRAPH_BUCKET_BEYOND) return {};
  return no_bucket(bucket);
}

Result<void> Pool::recapture(uint32_t bucket) {
  return bucket < bucket_count() ? buckets_[bucket]->recapture() : no_bucket(bucket);
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
    sums.info.size = sums.info.max_length = 0;
    sums.info.way = settings().ways.first;
    sums.info.choice = GFXGRAPH_CHOICE_NONE;
    std::ranges::fill(sums.info.figures, gfxgraph_way_figures_t{});
    return;
  }
  Bucket& one = *buckets_[bucket];
  one.collect_timings();
  sums.add(one.counts(), settings().row_bytes);
  sums.info.size = one.size();
  sums.info.max_length = one.max_length();
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
                     largest(), settings().name);
}

}  // namespace gfxgraph::replayer
