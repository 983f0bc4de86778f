#include "replayer/flow/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kMostSets = 16;

tl::unexpected<Error> pipeline_mistake(const char* what) {
  return fail(Status::kInvalidArgument, fmt::format("pipeline: {}", what));
}

}  // namespace

Result<void> Pipeline::create(const gfxgraph_pipeline_options_t& options) {
  if (options.depth == 0 || options.depth > kMostSets)
    return pipeline_mistake("depth is not from 1 to 16");
  gfxgraph_pool_options_t pool = gfxgraph_pool_options_default();
  pool.sizes = &options.rows;
  pool.size_count = 1;
  pool.tensors = options.tensors;
  pool.tensor_count = options.tensor_count;
  pool.work = options.work;
  pool.work_context = options.work_context;
  pool.first_way = options.first_way;
  pool.max_device_bytes = options.max_device_bytes;
  pool.name = options.name != nullptr ? options.name : "pipeline";
  auto settings = std::make_unique<PoolSettings>();
  GFXGRAPH_TRY(read_pool_settings(pool, nullptr, *settings));
  work_ =
      std::make_unique<PoolWork>(std::move(settings), device_->share_library(), device_->ordinal());
  in_order_ = options.in_order != 0;
  gfxgraph_piece_t piece{};
  piece.work = options.work;
  piece.work_context = options.work_context;
  piece.first_way = options.first_way;
  for (uint32_t i = 0; i < options.depth; ++i)
    GFXGRAPH_TRY(add_set(piece, options.capture_milliseconds));
  for (const Set& set : sets_) GFXGRAPH_TRY(device_->library().wait_for(set.stream));
  return {};
}

Result<void> Pipeline::add_set(const gfxgraph_piece_t& piece, uint32_t capture_ms) {
  const size_t number = sets_.size();
  Set& set = sets_.emplace_back(*work_, settings().sizes.front());
  if (const std::optional<Refusal> refusal = set.buffers.allocate()) {
    return fail(Status::kOutOfMemory,
                fmt::format("pipeline {}, set {} of buffers: {}", name(), number, refusal->text));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(set.stream, device_->make_stream());
  GFXGRAPH_TRY(set.buffers.make_zero(set.stream));
  set.work = std::make_unique<CapturedWork>(
      device_, fmt::format("pipeline {}, set {}", name(), number), capture_ms);
  set.work->use(CapturedWork::Memory{set.buffers.memory(), settings().sizes.front()});
  return set.work->use(piece);
}

Pipeline::~Pipeline() {
  const HipLibrary& library = device_->library();
  for (Set& set : sets_) {
    try {
      if (set.stream != nullptr) (void)library.wait_for(set.stream);
    } catch (...) {  // no memory for an error's text
    }
  }
  for (Set& set : sets_) {
    set.work.reset();
    for (const hip::Event event : {set.computed, set.behind}) {
      if (event != nullptr) library.table().hipEventDestroy(event);
    }
    device_->destroy_stream(set.stream);
  }
}

// ---- runs

void Pipeline::see(uint64_t number, std::unique_lock<std::mutex>& lock) {
  while (seen_ <= number) {
    if (sees_) {
      seen_one_.wait(lock);
      continue;
    }
    sees_ = true;
    const hip::Stream stream = sets_[seen_ % sets_.size()].stream;
    lock.unlock();
    Result<void> ended;
    try {
      ended = device_->library().wait_for(stream);
    } catch (...) {  // no memory for an error's text
      ended = tl::unexpected<Error>(Error{Status::kOutOfMemory, {}});
    }
    lock.lock();
    Ticket& one = ticket(seen_);
    counts_.until_seen.add(one.since.nanoseconds());
    if (!ended) {
      count(counts_.device_errors);
      one.status = ended.error().status;
      one.hip_error = ended.error().hip_error;
      one.text.swap(ended.error().message);
    }
    sees_ = false;
    ++seen_;
    seen_one_.notify_all();
  }
}

// Of the next run: the one that had it before has ended.
Result<void> Pipeline::free_set(bool waits) {
  std::unique_lock lock(tickets_mutex_);
  const auto refuse = [&](const char* what) {
    count(counts_.refusals);
    return fail(Status::kNotReady, fmt::format("pipeline {}: {}", name(), what));
  };
  if (submitted_ - taken_ == tickets_.size())
    return refuse("too many results are not taken: call gfxgraph_pipeline_next");
  if (submitted_ < sets_.size() || seen_ > submitted_ - sets_.size()) return {};
  const hip::Stream stream = sets_[submitted_ % sets_.size()].stream;
  GFXGRAPH_ASSIGN_OR_RETURN(const bool is_idle, device_->library().is_idle(stream));
  if (!is_idle && !waits) return refuse("every set of buffers is in use");
  if (!is_idle) count(counts_.waits);
  see(submitted_ - sets_.size(), lock);
  return {};
}

Result<void> Pipeline::compute(Set& set, WorkResult& done) {
  if (in_order_ && submitted_ != 0) {
    const Set& before = sets_[(submitted_ - 1) % sets_.size()];
    GFXGRAPH_TRY(device_->library().check(
        device_->library().table().hipStreamWaitEvent(set.stream, before.computed, 0),
        "hipStreamWaitEvent"));
  }
  GFXGRAPH_TRY(set.work->run(set.stream, done));
  return in_order_ ? record_event(device_->library(), set.computed, set.stream) : Result<void>();
}

Result<void> Pipeline::run_set(Set& set, const PipelineRun& run, WorkResult& done) {
  if (run.behind_stream)
    GFXGRAPH_TRY(order_streams(device_->library(), set.behind, run.run.stream, set.stream));
  Run own = run.run;
  own.stream = set.stream;
  GFXGRAPH_TRY(set.buffers.copy_in(own));
  GFXGRAPH_TRY(compute(set, done));
  return set.buffers.copy_out(own);
}

Result<void> Pipeline::submit(const PipelineRun& run, uint64_t& number) {
  if (run.run.size > settings().sizes.front()) {
    return fail(Status::kInvalidArgument,
                fmt::format("pipeline {}: {} rows, and its buffers have {}", name(), run.run.size,
                            settings().sizes.front()));
  }
  const std::lock_guard one(submit_mutex_);
  GFXGRAPH_TRY(free_set(run.waits));
  Ticket next;
  Set& set = sets_[submitted_ % sets_.size()];
  const uint64_t counted = set.work->counts().failures;
  if (Result<void> ran = run_set(set, run, next.done); !ran) {
    const bool is_counted = set.work->counts().failures != counted || next.done.work_status != 0;
    if (!is_counted) count(counts_.failures);
    // The caller's memory is the caller's again.
    (void)device_->library().wait_for(set.stream);
    return ran;
  }
  const std::lock_guard lock(tickets_mutex_);
  number = submitted_++;
  ticket(number) = std::move(next);
  most_in_flight_ = std::max(most_in_flight_, submitted_ - seen_);
  return {};
}

Result<void> Pipeline::warm() {
  const std::lock_guard one(submit_mutex_);
  Result<void> first;
  for (Set& set : sets_) {
    if (set.work->next_way() != GFXGRAPH_WAY_CAPTURE) continue;
    GFXGRAPH_TRY(set.buffers.make_zero(set.stream));
    Result<void> warmed = set.work->warm(set.stream);
    // What the work changes beside its buffers is changed by one set at a time.
    GFXGRAPH_TRY(device_->library().wait_for(set.stream));
    if (!warmed && first) first = std::move(warmed);
  }
  return first;
}

Result<void> Pipeline::next(gfxgraph_pipeline_result_t& result) {
  const std::lock_guard one(next_mutex_);
  std::unique_lock lock(tickets_mutex_);
  result.number = UINT64_MAX;
  if (taken_ == submitted_)
    return fail(Status::kNotFound, fmt::format("pipeline {}: all results were taken", name()));
  see(taken_, lock);
  Ticket& oldest = ticket(taken_);
  result.number = taken_++;
  result.way = oldest.done.way;
  result.fall = oldest.done.fall;
  result.status = static_cast<gfxgraph_status_t>(oldest.status);
  if (oldest.status == Status::kOk) return {};
  return tl::unexpected<Error>(Error{
      oldest.status, fmt::format("pipeline {}, run {}: {}", name(), result.number, oldest.text),
      oldest.hip_error});
}

void Pipeline::add_up(gfxgraph_pipeline_info_t& info, WorkSums& sums, Durations& until_seen) const {
  {
    const std::lock_guard lock(tickets_mutex_);
    info.in_flight = static_cast<uint32_t>(submitted_ - seen_);
    info.most_in_flight = static_cast<uint32_t>(most_in_flight_);
    info.untaken = static_cast<uint32_t>(submitted_ - taken_);
  }
  for (const Set& set : sets_) {
    info.device_bytes += set.buffers.bytes() + set.work->device_bytes();
    sums.add(set.work->counts());
  }
  info.waits = counts_.waits;
  info.refusals = counts_.refusals;
  info.device_errors = counts_.device_errors;
  sums.counts.failures += counts_.failures;
  until_seen.add(counts_.until_seen);
}

Result<std::string> Pipeline::reason(uint32_t set, uint32_t way) const {
  if (set < sets_.size()) return sets_[set].work->reason(way);
  return fail(Status::kNotFound,
              fmt::format("set {} does not exist: pipeline {} has {}", set, name(), sets_.size()));
}

}  // namespace gfxgraph::replayer
