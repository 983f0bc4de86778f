#include "replayer/production/bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replayer/production/measure/stopwatch.h"
#include "replayer/production/metrics.h"

namespace gfxgraph::replayer {

Error work_error(int32_t status, uint64_t size) {
  return Error{static_cast<Status>(status),
               fmt::format("the pool's function returned {} for {} rows", status, size)};
}

Bucket::Bucket(PoolWork& work, const BucketShape& shape)
    : work_(work),
      shape_(shape),
      ways_(),
      buffers_(work, shape.size),
      decode_{std::vector<void*>(work.settings().decode.on ? work.settings().tensors.size() : 0),
              HostValues(work, shape.size)},
      validation_(work, shape.size),
      timings_(work.library()),
      records_{{}, {}, {}, OutputDigest(work)} {
  begin_ways();
}

Bucket::~Bucket() {
  if (last_.known) (void)work_.library().wait_for(last_.stream);
  release_memory();
  if (last_.event != nullptr) work_.library().table().hipEventDestroy(last_.event);
}

uint32_t Bucket::next_way() const {
  const bool captures = stage_ != Stage::kSettled && ways_.next != GFXGRAPH_WAY_WORK;
  return captures ? uint32_t{GFXGRAPH_WAY_CAPTURE} : ways_.next.load();
}

void Bucket::begin_ways() {
  const PoolSettings& settings = work_.settings();
  ways_.order = settings.ways.measured ? WayOrder::of(settings.ways.measure_ways)
                                       : WayOrder::from(settings.ways.first);
  ways_.next = ways_.order.front();
  ways_.preferred = settings.ways.measured ? kNoWay : settings.ways.first;
  ways_.fall = GFXGRAPH_FALL_NONE;
  ways_.candidates = settings.ways.measured ? ways_.order : WayOrder();
  ways_.has_slower = false;
  if (settings.ways.measured) {
    ways_.choice.open(settings.ways.measure_runs);
  } else {
    ways_.choice.close();
  }
}

void Bucket::give_up(uint32_t way, uint32_t fall, const std::string& text) {
  ways_.order.remove(way);
  ways_.candidates.remove(way);
  ways_.next = ways_.order.front();
  const bool is_last = ways_.next == GFXGRAPH_WAY_WORK;
  if (ways_.fall == GFXGRAPH_FALL_NONE && (way == ways_.preferred || is_last)) ways_.fall = fall;
  if (is_last) ways_.choice.close();
  const bool breaks = work_.settings().is_strict() && (way == ways_.preferred || is_last);
  if (breaks) broken_.known = true;  // also if there is no host memory for texts
  records_.reasons.set(way, text);
  if (breaks && !broken_.error) {
    broken_.error =
        Error{Status::kMismatch,
              fmt::format("strict: bucket {} cannot go by {} ({}): {}; nothing takes its "
                          "place until it is captured again",
                          shape_.size, way_name(way), fall_name(fall), text)};
  }
  tell(way, ways_.next, fall, text);
}

void Bucket::tell(uint32_t way, uint32_t next, uint32_t fall, const std::string& text) {
  gfxgraph_fall_t told{};
  told.struct_size = sizeof told;
  told.bucket = shape_.number;
  told.bucket_size = shape_.size;
  told.way = way;
  told.next_way = next;
  told.fall = fall;
  told.text = text.c_str();
  work_.tell(told);
}

void Bucket::give_up_all(uint32_t fall, const std::string& text) {
  stage_ = Stage::kSettled;
  if (ways_.order.all().empty())
    give_up(GFXGRAPH_WAY_WORK, fall, text);  // over the pool's own buffers
  while (!ways_.order.all().empty()) give_up(ways_.order.front(), fall, text);
}

// ---- memory

Result<void> Bucket::find_memory(hip::Stream stream, RunResult& result) {
  if (const std::optional<Refusal> refusal = buffers_.allocate()) {
    result.fall = refusal->fall;
    if (refusal->passes) {  // the next run tries again
      records_.reasons.set(ways_.next, refusal->text);
    } else {
      give_up_all(refusal->fall, refusal->text);
    }
    return {};
  }
  // Also what no run copies in.
  if (const Result<void> zero = buffers_.make_zero(stream); !zero) {
    release_memory();
    return zero;
  }
  sum_bytes();
  stage_ = ways_.next == GFXGRAPH_WAY_WORK ? Stage::kSettled : Stage::kAllocated;
  return {};
}

void Bucket::sum_bytes() noexcept {
  bytes_.all = buffers_.bytes() + bytes_.step + validation_.bytes();
}

void Bucket::release_step() noexcept {
  step_.clear();
  work_.release(std::exchange(bytes_.step, 0));
  sum_bytes();
}

void Bucket::release_memory() noexcept {
  release_step();
  decode_.values.release();
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
  result.work_status =
      work_.call(shape_.size, shape_.max_length, buffers_.memory(), stream, captured);
  if (result.work_status == 0) [[likely]]
    return {};
  return tl::unexpected<Error>(work_error(result.work_status, shape_.size));
}

// The function's work is done, once, whatever becomes of the capture.
Result<void> Bucket::capture(hip::Stream stream, RunResult& result) {
  Result<OwnedCapture> begun = BucketStep::begin(stream, work_.settings().capture_ms);
  if (!begun) {
    result.fall = GFXGRAPH_FALL_CAPTURE;
    // Another thread's capture took too long: the next run tries again.
    const bool passes = begun.error().status == Status::kNotReady;
    if (passes) {
      records_.reasons.set(ways_.next, begun.error().message);
    } else {
      give_up_all(GFXGRAPH_FALL_CAPTURE, begun.error().message);
    }
    if (!work_.settings().is_strict()) return call_work(stream, false, result);
    return tl::unexpected<Error>(passes ? begun.error() : *broken_.error);
  }
  GFXGRAPH_TRY(call_work(stream, true, result));  // else the capture is abandoned
  if (const Result<void> taken = step_.take(std::move(*begun)); !taken) {
    release_step();
    result.way = GFXGRAPH_WAY_WORK;
    result.fall = GFXGRAPH_FALL_CAPTURE;
    give_up_all(GFXGRAPH_FALL_CAPTURE, taken.error().message);
    return check_broken();
  }
  count(records_.counts.captures);
  GFXGRAPH_TRY(prepare_captured());
  return check_broken();
}

Result<void> Bucket::prepare_captured() {
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t more, step_.device_bytes());
  if (const std::optional<std::string> full = work_.reserve(more)) {
    release_step();
    give_up_all(GFXGRAPH_FALL_CAP,
                fmt::format("the step of bucket {} allocates {} bytes of device memory, and {}",
                            shape_.size, more, *full));
    return {};
  }
  bytes_.step = more;
  sum_bytes();
  stage_ = Stage::kSettled;
  records_.reasons.set(ways_.next, {});
  if (work_.settings().safety.level >= GFXGRAPH_SAFETY_IDENTITY) {
    if (const Result<void> checked = check_identity(); !checked) {
      release_step();
      give_up_all(GFXGRAPH_FALL_FINGERPRINT, checked.error().message);
      return {};
    }
  }
  if (ways_.choice.is_open()) prepare_measured();
  prepare_next();
  return {};
}

void Bucket::prepare_measured() {
  const WayOrder all = ways_.order;
  for (const uint32_t way : all.all()) (void)prepare(way);
  if (!timings_.is_possible() && ways_.candidates.has(GFXGRAPH_WAY_EAGER) &&
      !work_.settings().ways.warm_measures) {
    ways_.candidates.remove(GFXGRAPH_WAY_EAGER);
    records_.reasons.set(
        GFXGRAPH_WAY_EAGER,
        "not measured: this runtime lacks hipEventElapsedTime, and what the call takes in "
        "this way is its work; see warm_measures");
  }
  ways_.choice.reserve(ways_.candidates);
}

// False: it was given up.
bool Bucket::prepare(uint32_t way) {
  if (step_.is_ready(way)) return true;
  const Result<void> prepared = step_.prepare(way);
  if (prepared) return true;
  give_up(way, GFXGRAPH_FALL_PREPARE, prepared.error().message);
  return false;
}

// The first way that there is a step of.
void Bucket::prepare_next() {
  while (ways_.next != GFXGRAPH_WAY_WORK && !prepare(ways_.next)) {
  }
  if (ways_.next == GFXGRAPH_WAY_WORK) release_step();  // only the caller's function is left
}

Result<void> Bucket::run_step(hip::Stream stream, RunResult& result) {
  for (;;) {
    uint32_t way = ways_.next.load(std::memory_order_relaxed);
    if (ways_.turn != GFXGRAPH_WAY_WORK) [[unlikely]]
      way = std::exchange(ways_.turn, GFXGRAPH_WAY_WORK);
    result.fall = ways_.fall;
    if (way == GFXGRAPH_WAY_WORK) return call_work(stream, false, result);
    if (!step_.is_ready(way)) [[unlikely]] {  // no host memory to prepare it when that was due
      (void)prepare(way);
      prepare_next();
      continue;
    }
    result.way = way;
    const Result<void> ran = step_.run(way, stream);
    if (ran) [[likely]]
      return {};
    const bool may_go_on = step_.submitted_nothing(way, ran.error());
    step_.drop(way);
    give_up(way, GFXGRAPH_FALL_RUN, ran.error().message);
    prepare_next();
    if (!may_go_on) return ran;
    GFXGRAPH_TRY(check_broken());
  }
}

// ---- runs

Result<void> Bucket::submit(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(run.decode == nullptr ? submit_rows(run, result) : submit_decode(run, result));
  return work_.settings().safety.digest ? records_.digest.add(run) : Result<void>{};
}

// The lengths and the block table are the last two tensors.
Result<void> Bucket::submit_decode(const Run& run, RunResult& result) {
  const DecodeValues& values = *run.decode;
  const size_t own = work_.settings().own_tensors();
  const int32_t* lengths = values.lengths;
  const int32_t* block_table = values.block_table;
  if (!values.on_device) {
    GFXGRAPH_ASSIGN_OR_RETURN(const HostValues::Place place,
                              decode_.values.place(values, run.size));
    lengths = place.lengths;
    block_table = place.block_table;
  }
  std::copy_n(run.memory, own, decode_.memory.data());
  decode_.memory[own] = const_cast<int32_t*>(lengths);
  decode_.memory[own + 1] = const_cast<int32_t*>(block_table);
  Run rows = run;
  rows.memory = decode_.memory.data();
  const Result<void> ran = submit_rows(rows, result);
  if (values.on_device) return ran;
  const Result<void> followed = decode_.values.submitted(run.stream);
  return ran ? followed : ran;
}

Result<void> Bucket::submit_rows(const Run& run, RunResult& result) {
  if (stage_.load(std::memory_order_relaxed) == Stage::kNew) [[unlikely]]
    GFXGRAPH_TRY(find_memory(run.stream, result));
  if (buffers_.empty()) [[unlikely]] {
    GFXGRAPH_TRY(check_broken());
    if (work_.settings().is_strict())
      return fail(Status::kNotReady, records_.reasons.of(ways_.next));  // another thread's capture
    (void)is_due(result);
    if (ways_.fall != GFXGRAPH_FALL_NONE) result.fall = ways_.fall;
    result.work_status = work_.call(run.size, shape_.max_length, run.memory, run.stream, false);
    if (result.work_status == 0) return {};
    return tl::unexpected<Error>(work_error(result.work_status, run.size));
  }
  GFXGRAPH_TRY(follow(run.stream));
  result.padded_rows = shape_.size - run.size;
  if (is_due(result)) return run_validated(run, result);
  if (work_.settings().is_strict()) GFXGRAPH_TRY(check_compared(result));
  return run_padded(run, result);
}

// Whether a step is to be validated in this run. That it is not is counted, too.
bool Bucket::is_due(RunResult& result) {
  if (!validation_.is_due()) [[likely]]
    return false;
  result.validation = GFXGRAPH_VALIDATION_UNCOMPARED;
  if (stage_ != Stage::kSettled || ways_.next == GFXGRAPH_WAY_WORK) return false;
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
  result.validation = GFXGRAPH_VALIDATION_NONE;  // until it is compared
  GFXGRAPH_TRY(run_step(run.stream, result));
  if (result.way == GFXGRAPH_WAY_WORK) {
    result.validation = GFXGRAPH_VALIDATION_UNCOMPARED;
    return buffers_.copy_out(run);
  }
  GFXGRAPH_TRY(validation_.turn(run.stream));
  result.work_status =
      work_.call(shape_.size, shape_.max_length, validation_.memory(), run.stream, false);
  if (result.work_status != 0)
    return tl::unexpected<Error>(work_error(result.work_status, shape_.size));
  GFXGRAPH_ASSIGN_OR_RETURN(const bool equal, validation_.compare(run, buffers_));
  result.validation = equal ? GFXGRAPH_VALIDATION_EQUAL : GFXGRAPH_VALIDATION_DIFFERENT;
  GFXGRAPH_TRY(equal ? buffers_.copy_out(run) : validation_.copy_out(run));
  return work_.settings().is_strict() ? check_compared(result) : Result<void>{};
}

Result<void> Bucket::run(const Run& run, RunResult& result) {
  const std::lock_guard lock(mutex_);
  const auto states = work_.lock_states();
  Result<void> ran = run_alone(run, result);
  if (ran) [[likely]]
    count_run(run, result);
  return ran;
}

void Bucket::count_run(const Run& run, const RunResult& result) noexcept {
  count_alone(records_.counts.runs[result.way]);
  if (result.fall != GFXGRAPH_FALL_NONE) count_alone(records_.counts.falls[result.fall]);
  count_alone(records_.counts.rows, run.size);
  if (result.padded_rows != 0) count_alone(records_.counts.padded_rows, result.padded_rows);
  records_.counts.submit.add_alone(run.watch.nanoseconds());
}

Result<void> Bucket::run_alone(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(check_broken());
  if (ways_.has_slower) [[unlikely]]
    drop_slower();
  if (run.timed || ways_.choice.is_open()) [[unlikely]]
    return run_timed(run, result);
  return submit(run, result);
}

// Timed because it was asked for, or because its way is measured.
Result<void> Bucket::run_timed(const Run& run, RunResult& result) {
  timings_.collect(records_.counts.end_to_end, ways_.choice);
  const uint32_t turn = measured_turn();
  const bool has_turn = turn != GFXGRAPH_WAY_WORK;
  RunTimings::Pair* pair = nullptr;
  if (run.timed || (has_turn && timings_.is_possible())) {
    GFXGRAPH_ASSIGN_OR_RETURN(pair, timings_.begin(run.stream));
    if (pair == nullptr && run.timed) count(records_.counts.untimed);
  }
  ways_.turn = pair != nullptr || !timings_.is_possible() ? turn : uint32_t{GFXGRAPH_WAY_WORK};
  const bool is_measured = ways_.turn != GFXGRAPH_WAY_WORK;
  const Stopwatch watch;
  const Result<void> ran = submit(run, result);
  ways_.turn = GFXGRAPH_WAY_WORK;
  if (!ran) return ran;
  const bool counts =
      is_measured && result.way == turn && result.validation == GFXGRAPH_VALIDATION_NONE;
  const uint64_t submit = watch.nanoseconds();
  if (pair == nullptr) {
    if (!counts) return {};
    ways_.choice.begun(turn);
    ways_.choice.ended(turn, submit, 0);
    return {};
  }
  GFXGRAPH_TRY(timings_.end(*pair, run.stream));
  pair->timed = run.timed;
  if (!counts) return {};
  pair->measured = turn;
  pair->submit = submit;
  ways_.choice.begun(turn);
  return {};
}

// ---- measurement

// The way that the next run measures; GFXGRAPH_WAY_WORK: none.
uint32_t Bucket::measured_turn() {
  if (!ways_.choice.is_open() || stage_ != Stage::kSettled) return GFXGRAPH_WAY_WORK;
  if (!ways_.choice.is_complete(ways_.candidates)) return ways_.choice.turn(ways_.candidates);
  choose();
  return GFXGRAPH_WAY_WORK;
}

void Bucket::choose() {
  const WayOrder measured = ways_.candidates;
  const std::string text = ways_.choice.choose(ways_.candidates);
  const uint32_t best = ways_.candidates.front();
  for (const uint32_t way : measured.all()) {
    if (way != best) records_.reasons.set(way, text);
  }
  ways_.order.prefer(best);
  ways_.next = ways_.preferred = best;
  ways_.has_slower = true;
  ways_.runs_since = 0;
  ways_.choice.made();
  for (const uint32_t way : measured.all()) {
    if (way != best) tell(way, best, GFXGRAPH_FALL_MEASURED, text);
  }
}

// Destroying a step waits for its work, so only those are dropped that have none.
void Bucket::drop_slower() {
  constexpr uint32_t kOften = 64;
  if (ways_.runs_since++ % kOften == 0) ways_.has_slower = !step_.drop_idle_but(ways_.next);
}

// Each run is waited for, so that the host's clock has its time.
Result<void> Bucket::measure(hip::Stream stream) {
  const HipLibrary& library = work_.library();
  for (;;) {
    const uint32_t turn = measured_turn();
    if (turn == GFXGRAPH_WAY_WORK) return {};
    GFXGRAPH_TRY(library.wait_for(stream));
    ways_.turn = turn;
    RunResult result;
    const Stopwatch watch;
    const Result<void> ran = run_step(stream, result);
    ways_.turn = GFXGRAPH_WAY_WORK;
    if (!ran) return ran;
    const uint64_t submit = watch.nanoseconds();
    GFXGRAPH_TRY(library.wait_for(stream));
    if (result.way != turn) continue;
    ways_.choice.begun(turn);
    ways_.choice.ended(turn, submit, watch.nanoseconds());
  }
}

// ---- warm-up

bool Bucket::is_cold() const {
  return stage_ != Stage::kSettled || broken_.known ||
         (ways_.choice.is_open() && work_.settings().ways.warm_measures);
}

Result<void> Bucket::allocate(hip::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (stage_ != Stage::kNew) return {};
  RunResult result;
  GFXGRAPH_TRY(find_memory(stream, result));
  return buffers_.empty() ? Result<void>{} : follow(stream);
}

Result<void> Bucket::warm(hip::Stream stream, const StateCopies& states, RunResult& result) {
  const std::lock_guard lock(mutex_);
  const auto in_turn = work_.lock_states();
  GFXGRAPH_TRY(check_broken());
  if (!is_cold()) return {};
  GFXGRAPH_TRY(states.save(stream));
  const Result<void> warmed = warm_up(stream, result);
  const Result<void> put_back = states.put_back(stream);
  return warmed ? put_back : warmed;
}

Result<void> Bucket::warm_up(hip::Stream stream, RunResult& result) {
  if (stage_ == Stage::kNew) GFXGRAPH_TRY(find_memory(stream, result));
  if (stage_ == Stage::kNew) return fail(Status::kNotReady, reason(ways_.next));
  if (buffers_.empty()) return check_broken();
  GFXGRAPH_TRY(follow(stream));
  if (stage_ != Stage::kSettled) {
    GFXGRAPH_TRY(buffers_.make_zero(stream));
    GFXGRAPH_TRY(capture(stream, result));
  }
  if (stage_ != Stage::kSettled || !work_.settings().ways.warm_measures) return {};
  timings_.collect(records_.counts.end_to_end, ways_.choice);
  return measure(stream);
}

Result<void> Bucket::recapture() {
  const std::lock_guard lock(mutex_);
  if (last_.known) GFXGRAPH_TRY(work_.library().wait_for(last_.stream));
  release_memory();
  records_.reasons.clear();
  last_.known = false;
  timings_.collect(records_.counts.end_to_end, ways_.choice);
  timings_.forget_measured();
  broken_.error.reset();
  broken_.known = false;
  begin_ways();
  stage_ = Stage::kNew;
  return {};
}

void Bucket::collect_timings() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) timings_.collect(records_.counts.end_to_end, ways_.choice);
}

}  // namespace gfxgraph::replayer
