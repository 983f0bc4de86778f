#include "replayer/production/bucket.h"

#include <fmt/format.h>

#include <utility>

namespace gfxgraph::replayer {

Error work_error(int32_t status, uint64_t size) {
  return Error{static_cast<Status>(status),
               fmt::format("the pool's function returned {} for {} rows", status, size)};
}

Bucket::Bucket(PoolWork& work, uint32_t number, uint64_t size)
    : work_(work),
      number_(number),
      size_(size),
      way_(work.settings().first_way),
      buffers_(work, size),
      validation_(work, size),
      timings_(work.library()) {}

Bucket::~Bucket() {
  if (last_.known) (void)work_.library().wait_for(last_.stream);
  release_memory();
  if (last_.event != nullptr) work_.library().table().hipEventDestroy(last_.event);
}

uint32_t Bucket::next_way() const {
  const bool captures = stage_ != Stage::kSettled && way_ != GFXGRAPH_WAY_WORK;
  return captures ? uint32_t{GFXGRAPH_WAY_CAPTURE} : way_.load();
}

void Bucket::give_up(uint32_t way, uint32_t next, uint32_t fall, const std::string& text) {
  way_ = next;
  if (way == work_.settings().first_way) fall_ = fall;
  reasons_.set(way, text);
  gfxgraph_fall_t told{};
  told.struct_size = sizeof told;
  told.bucket = number_;
  told.bucket_size = size_;
  told.way = way;
  told.next_way = next;
  told.fall = fall;
  told.text = text.c_str();
  work_.tell(told);
}

void Bucket::give_up_all(uint32_t fall, const std::string& text) {
  stage_ = Stage::kSettled;
  if (way_ == GFXGRAPH_WAY_WORK) give_up(way_, way_, fall, text);  // over the pool's own buffers
  for (uint32_t way = way_; way < GFXGRAPH_WAY_WORK; ++way) give_up(way, way + 1, fall, text);
}

// ---- memory

Result<void> Bucket::find_memory(hip::Stream stream) {
  if (const std::optional<Refusal> refusal = buffers_.allocate()) {
    give_up_all(refusal->fall, refusal->text);
    return {};
  }
  // Also what no run copies in.
  if (const Result<void> zero = buffers_.make_zero(stream); !zero) {
    release_memory();
    return zero;
  }
  sum_bytes();
  stage_ = way_ == GFXGRAPH_WAY_WORK ? Stage::kSettled : Stage::kAllocated;
  return {};
}

void Bucket::sum_bytes() noexcept {
  device_bytes_ = buffers_.bytes() + step_bytes_ + validation_.bytes();
}

void Bucket::release_step() noexcept {
  step_.clear();
  work_.release(std::exchange(step_bytes_, 0));
  sum_bytes();
}

void Bucket::release_memory() noexcept {
  release_step();
  validation_.release();
  buffers_.release();
  sum_bytes();
}

// The last run's work may use the bucket's buffers still.
Result<void> Bucket::follow(hip::Stream stream) {
  const HipLibrary& library = work_.library();
  if (last_.known && last_.stream != stream) {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool done, library.is_idle(last_.stream));
    if (!done) GFXGRAPH_TRY(order_behind_last(stream));
  }
  last_.stream = stream;
  last_.known = true;
  return {};
}

Result<void> Bucket::order_behind_last(hip::Stream stream) {
  const HipLibrary& library = work_.library();
  const HipTable& hip = library.table();
  if (last_.event == nullptr) {
    GFXGRAPH_TRY(
        library.check(hip.hipEventCreateWithFlags(&last_.event, hip::kDisableTiming), "an event"));
  }
  GFXGRAPH_TRY(library.check(hip.hipEventRecord(last_.event, last_.stream), "hipEventRecord"));
  return library.check(hip.hipStreamWaitEvent(stream, last_.event, 0), "hipStreamWaitEvent");
}

// ---- ways

Result<void> Bucket::call_work(hip::Stream stream, bool captured, RunResult& result) {
  result.way = captured ? GFXGRAPH_WAY_CAPTURE : GFXGRAPH_WAY_WORK;
  result.work_status = work_.call(size_, buffers_.memory(), stream, captured);
  if (result.work_status == 0) [[likely]]
    return {};
  return tl::unexpected<Error>(work_error(result.work_status, size_));
}

// The function's work is done, once, whatever becomes of the capture.
Result<void> Bucket::capture(hip::Stream stream, RunResult& result) {
  Result<OwnedCapture> begun = BucketStep::begin(stream, work_.settings().capture_ms);
  if (!begun) {
    result.fall = GFXGRAPH_FALL_CAPTURE;
    // Another thread's capture took too long: the next run tries again.
    if (begun.error().status == Status::kNotReady) {
      reasons_.set(way_, begun.error().message);
    } else {
      give_up_all(GFXGRAPH_FALL_CAPTURE, begun.error().message);
    }
    return call_work(stream, false, result);
  }
  GFXGRAPH_TRY(call_work(stream, true, result));  // else the capture is abandoned
  if (const Result<void> taken = step_.take(std::move(*begun)); !taken) {
    release_step();
    result.way = GFXGRAPH_WAY_WORK;
    result.fall = GFXGRAPH_FALL_CAPTURE;
    give_up_all(GFXGRAPH_FALL_CAPTURE, taken.error().message);
    return {};
  }
  count(counts_.captures);
  return prepare_captured();
}

Result<void> Bucket::prepare_captured() {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t more, step_.device_bytes());
  if (!work_.reserve(more)) {
    release_step();
    give_up_all(
        GFXGRAPH_FALL_CAP,
        fmt::format("the step of bucket {} allocates {} bytes of device memory, and the pool has "
                    "{} of {}: raise max_device_bytes",
                    size_, more, work_.reserved(), work_.settings().max_device_bytes));
    return {};
  }
  step_bytes_ = more;
  sum_bytes();
  stage_ = Stage::kSettled;
  reasons_.set(way_, {});
  prepare_from(way_);
  return {};
}

void Bucket::prepare_from(uint32_t way) {
  for (; way < GFXGRAPH_WAY_WORK; ++way) {
    const Result<void> prepared = step_.prepare(way);
    if (prepared) return;
    give_up(way, way + 1, GFXGRAPH_FALL_PREPARE, prepared.error().message);
  }
  release_step();  // only the caller's function is left
}

Result<void> Bucket::run_step(hip::Stream stream, RunResult& result) {
  for (;;) {
    const uint32_t way = way_.load(std::memory_order_relaxed);
    result.fall = fall_;
    if (way == GFXGRAPH_WAY_WORK) return call_work(stream, false, result);
    if (!step_.is_ready()) [[unlikely]] {  // no host memory to prepare it when that was due
      prepare_from(way);
      continue;
    }
    result.way = way;
    const Result<void> ran = step_.run(stream);
    if (ran) [[likely]]
      return {};
    const bool may_go_on = step_.submitted_nothing(ran.error());
    step_.drop_way();
    give_up(way, way + 1, GFXGRAPH_FALL_RUN, ran.error().message);
    prepare_from(way + 1);
    if (!may_go_on) return ran;
  }
}

// ---- runs

Result<void> Bucket::submit(const Run& run, RunResult& result) {
  if (stage_.load(std::memory_order_relaxed) == Stage::kNew) [[unlikely]]
    GFXGRAPH_TRY(find_memory(run.stream));
  if (buffers_.empty()) [[unlikely]] {
    (void)is_due(result);
    result.fall = fall_;
    result.work_status = work_.call(run.size, run.memory, run.stream, false);
    if (result.work_status == 0) return {};
    return tl::unexpected<Error>(work_error(result.work_status, run.size));
  }
  GFXGRAPH_TRY(follow(run.stream));
  result.padded_rows = size_ - run.size;
  return is_due(result) ? run_validated(run, result) : run_padded(run, result);
}

// Whether a step is to be validated in this run. That it is not is counted, too.
bool Bucket::is_due(RunResult& result) {
  if (!validation_.is_due()) [[likely]]
    return false;
  result.validation = GFXGRAPH_VALIDATION_UNCOMPARED;
  if (stage_ != Stage::kSettled || way_ == GFXGRAPH_WAY_WORK) return false;
  const bool possible = validation_.prepare();
  sum_bytes();
  return possible;
}

Result<void> Bucket::run_padded(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(buffers_.copy_in(run));
  GFXGRAPH_TRY(stage_.load(std::memory_order_relaxed) == Stage::kSettled
                   ? run_step(run.stream, result)
                   : capture(run.stream, result));
  return buffers_.copy_out(run);
}

Result<void> Bucket::run_validated(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(buffers_.copy_in(run));
  GFXGRAPH_TRY(validation_.begin(buffers_, run.stream));
  GFXGRAPH_TRY(run_step(run.stream, result));
  if (result.way == GFXGRAPH_WAY_WORK) return buffers_.copy_out(run);
  GFXGRAPH_TRY(validation_.turn(run.stream));
  result.work_status = work_.call(size_, validation_.memory(), run.stream, false);
  if (result.work_status != 0) return tl::unexpected<Error>(work_error(result.work_status, size_));
  GFXGRAPH_ASSIGN_OR_RETURN(const bool equal, validation_.compare(run, buffers_));
  result.validation = equal ? GFXGRAPH_VALIDATION_EQUAL : GFXGRAPH_VALIDATION_DIFFERENT;
  return equal ? buffers_.copy_out(run) : validation_.copy_out(run);
}

Result<void> Bucket::run(const Run& run, RunResult& result) {
  const std::lock_guard lock(mutex_);
  const auto states = work_.lock_states();
  if (!run.timed) return submit(run, result);
  timings_.collect(counts_.end_to_end);
  GFXGRAPH_ASSIGN_OR_RETURN(RunTimings::Pair* const pair, timings_.begin(run.stream));
  if (pair == nullptr) count(counts_.untimed);
  GFXGRAPH_TRY(submit(run, result));
  return pair == nullptr ? Result<void>{} : timings_.end(*pair, run.stream);
}

Result<void> Bucket::warm(hip::Stream stream, RunResult& result) {
  const std::lock_guard lock(mutex_);
  const auto states = work_.lock_states();
  if (stage_ == Stage::kNew) GFXGRAPH_TRY(find_memory(stream));
  if (stage_ == Stage::kSettled) return {};
  GFXGRAPH_TRY(follow(stream));
  GFXGRAPH_TRY(buffers_.make_zero(stream));
  return capture(stream, result);
}

Result<void> Bucket::recapture() {
  const std::lock_guard lock(mutex_);
  if (last_.known) GFXGRAPH_TRY(work_.library().wait_for(last_.stream));
  release_memory();
  reasons_.clear();
  last_.known = false;
  fall_ = GFXGRAPH_FALL_NONE;
  way_ = work_.settings().first_way;
  stage_ = Stage::kNew;
  return {};
}

void Bucket::collect_timings() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) timings_.collect(counts_.end_to_end);
}

}  // namespace gfxgraph::replayer
