#include "replayer/production/bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replayer/production/measure/stopwatch.h"
#include "replayer/production/metrics.h"

namespace gfxgraph::replayer {

namespace {

WaySettings settings_of(const PoolWork& work, gfxgraph_border_function_t border, void* context) {
  WaySettings settings = work.settings().ways;
  if (work.settings().border.call != nullptr) settings.border = {border, context};
  return settings;
}

}  // namespace

Error work_error(int32_t status, uint64_t size) {
  return Error{static_cast<Status>(status),
               fmt::format("the pool's function returned {} for {} rows", status, size)};
}

Bucket::Bucket(PoolWork& work, const BucketShape& shape)
    : work_(work),
      shape_(shape),
      buffers_(work, shape.size),
      decode_{std::vector<void*>(work.settings().decode.on ? work.settings().tensors.size() : 0),
              HostValues(work, shape.size)},
      validation_(work, shape.size),
      order_(work.library()),
      timings_(work.library()),
      records_{{}, {}, OutputDigest(work)},
      way_settings_(settings_of(work, &Bucket::at_border, this)),
      ways_(*this, way_settings_) {
  ways_.set_timed(timings_.is_possible());
}

Bucket::~Bucket() {
  (void)order_.wait();
  release_memory();
}

// ---- what the ways ask for

std::string Bucket::name() const { return fmt::format("bucket {}", shape_.size); }

void Bucket::fell(uint32_t way, uint32_t next, uint32_t fall, const std::string& text) {
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

Result<void> Bucket::call_work(hip::Stream stream, bool captured, WorkResult& result) {
  result.way = captured ? GFXGRAPH_WAY_CAPTURE : GFXGRAPH_WAY_WORK;
  result.work_status =
      work_.call(shape_.size, shape_.max_length, buffers_.memory(), stream, captured);
  if (result.work_status == 0) [[likely]]
    return {};
  return tl::unexpected<Error>(work_error(result.work_status, shape_.size));
}

std::optional<Refusal> Bucket::accept(const CapturedStep& step, uint64_t device_bytes) {
  count(records_.counts.captures);
  if (const std::optional<std::string> full = work_.reserve(device_bytes)) {
    return Refusal{GFXGRAPH_FALL_CAP,
                   fmt::format("the step of bucket {} allocates {} bytes of device memory, and {}",
                               shape_.size, device_bytes, *full)};
  }
  bytes_.step = device_bytes;
  sum_bytes();
  if (work_.settings().safety.level < GFXGRAPH_SAFETY_IDENTITY) return std::nullopt;
  const Result<void> checked = check_identity(step);
  if (checked) return std::nullopt;
  return Refusal{GFXGRAPH_FALL_FINGERPRINT, checked.error().message};
}

int32_t Bucket::at_border(void* context, const gfxgraph_border_t* border) {
  auto& one = *static_cast<Bucket*>(context);
  const gfxgraph_call_t call =
      one.work_.describe(one.shape_.size, one.shape_.max_length, one.buffers_.memory(),
                         one.border_.stream, /*captured=*/false);
  return one.border_.status = one.work_.call_border(*border, call);
}

Result<void> Bucket::run_ways(hip::Stream stream, RunResult& result) {
  border_ = {stream, 0};
  Result<void> ran = ways_.run(stream, result);
  if (ran || border_.status == 0) [[likely]]
    return ran;
  result.work_status = border_.status;
  return fail(static_cast<Status>(border_.status),
              fmt::format("the pool's border function returned {} in a run of bucket {}",
                          border_.status, shape_.size));
}

void Bucket::released() noexcept {
  work_.release(std::exchange(bytes_.step, 0));
  sum_bytes();
}

// ---- memory

Result<void> Bucket::find_memory(hip::Stream stream, RunResult& result) {
  if (const std::optional<Refusal> refusal = buffers_.allocate()) {
    result.fall = refusal->fall;
    if (refusal->passes) {  // the next run tries again
      ways_.set_reason(refusal->text);
    } else {
      ways_.give_up_all(refusal->fall, refusal->text);
      has_memory_ = true;
    }
    return {};
  }
  // Also what no run copies in.
  if (const Result<void> zero = buffers_.make_zero(stream); !zero) {
    release_memory();
    return zero;
  }
  sum_bytes();
  has_memory_ = true;
  return {};
}

void Bucket::sum_bytes() noexcept {
  bytes_.all = buffers_.bytes() + bytes_.step + validation_.bytes();
}

void Bucket::release_memory() noexcept {
  ways_.release_step();
  decode_.values.release();
  validation_.release();
  buffers_.release();
  sum_bytes();
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
  if (!has_memory_.load(std::memory_order_relaxed)) [[unlikely]]
    GFXGRAPH_TRY(find_memory(run.stream, result));
  if (buffers_.empty()) [[unlikely]]
    return submit_without_memory(run, result);
  GFXGRAPH_TRY(order_.follow(run.stream));
  result.padded_rows = shape_.size - run.size;
  if (is_due(result)) return run_validated(run, result);
  if (work_.settings().is_strict()) GFXGRAPH_TRY(check_compared(result));
  return run_padded(run, result);
}

Result<void> Bucket::submit_without_memory(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(ways_.check_broken());
  if (work_.settings().is_strict())  // another thread's capture
    return fail(Status::kNotReady, ways_.reason(ways_.next_step()));
  (void)is_due(result);
  if (ways_.fall() != GFXGRAPH_FALL_NONE) result.fall = ways_.fall();
  result.work_status = work_.call(run.size, shape_.max_length, run.memory, run.stream, false);
  if (result.work_status == 0) return {};
  return tl::unexpected<Error>(work_error(result.work_status, run.size));
}

// Whether a step is to be validated in this run. That it is not is counted, too.
bool Bucket::is_due(RunResult& result) {
  if (!validation_.is_due()) [[likely]]
    return false;
  result.validation = GFXGRAPH_VALIDATION_UNCOMPARED;
  if (!ways_.is_settled() || ways_.next_step() == GFXGRAPH_WAY_WORK) return false;
  const bool possible = validation_.prepare();
  sum_bytes();
  return possible;
}

Result<void> Bucket::run_padded(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(buffers_.copy_in(run));
  GFXGRAPH_TRY(run_ways(run.stream, result));
  return buffers_.copy_out(run);
}

Result<void> Bucket::run_validated(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(buffers_.copy_in(run));
  GFXGRAPH_TRY(validation_.begin(buffers_, run.stream));
  result.validation = GFXGRAPH_VALIDATION_NONE;  // until it is compared
  GFXGRAPH_TRY(run_ways(run.stream, result));
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
  count_alone(records_.counts.rows, run.size);
  if (result.padded_rows != 0) count_alone(records_.counts.padded_rows, result.padded_rows);
  records_.counts.add_alone(result, run.watch.nanoseconds());
}

Result<void> Bucket::run_alone(const Run& run, RunResult& result) {
  GFXGRAPH_TRY(ways_.check_broken());
  if (ways_.has_slower()) [[unlikely]]
    ways_.drop_slower();
  if (run.timed || ways_.choice().is_open()) [[unlikely]]
    return run_timed(run, result);
  return submit(run, result);
}

// Timed because it was asked for, or because its way is measured.
Result<void> Bucket::run_timed(const Run& run, RunResult& result) {
  timings_.collect(records_.counts.end_to_end, ways_.choice());
  const uint32_t turn = ways_.measured_turn();
  const bool has_turn = turn != GFXGRAPH_WAY_WORK;
  RunTimings::Pair* pair = nullptr;
  if (run.timed || (has_turn && timings_.is_possible())) {
    GFXGRAPH_ASSIGN_OR_RETURN(pair, timings_.begin(run.stream));
    if (pair == nullptr && run.timed) count(records_.counts.untimed);
  }
  const bool is_measured = has_turn && (pair != nullptr || !timings_.is_possible());
  ways_.set_turn(is_measured ? turn : uint32_t{GFXGRAPH_WAY_WORK});
  const Stopwatch watch;
  const Result<void> ran = submit(run, result);
  ways_.set_turn(GFXGRAPH_WAY_WORK);
  if (!ran) return ran;
  const bool counts =
      is_measured && result.way == turn && result.validation == GFXGRAPH_VALIDATION_NONE;
  const uint64_t submit = watch.nanoseconds();
  if (pair == nullptr) {
    if (!counts) return {};
    ways_.choice().begun(turn);
    ways_.choice().ended(turn, submit, 0);
    return {};
  }
  GFXGRAPH_TRY(timings_.end(*pair, run.stream));
  pair->timed = run.timed;
  if (!counts) return {};
  pair->measured = turn;
  pair->submit = submit;
  ways_.choice().begun(turn);
  return {};
}

// ---- measurement

// Each run is waited for, so that the host's clock has its time.
Result<void> Bucket::measure(hip::Stream stream) {
  const HipLibrary& library = work_.library();
  for (;;) {
    const uint32_t turn = ways_.measured_turn();
    if (turn == GFXGRAPH_WAY_WORK) return {};
    GFXGRAPH_TRY(library.wait_for(stream));
    ways_.set_turn(turn);
    RunResult result;
    const Stopwatch watch;
    const Result<void> ran = run_ways(stream, result);
    ways_.set_turn(GFXGRAPH_WAY_WORK);
    if (!ran) return ran;
    const uint64_t submit = watch.nanoseconds();
    GFXGRAPH_TRY(library.wait_for(stream));
    if (result.way != turn) continue;
    ways_.choice().begun(turn);
    ways_.choice().ended(turn, submit, watch.nanoseconds());
  }
}

// ---- warm-up

bool Bucket::is_cold() const {
  return !has_memory_ || !ways_.is_settled() || ways_.is_broken() ||
         (ways_.choice().is_open() && work_.settings().ways.warm_measures);
}

Result<void> Bucket::allocate(hip::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (has_memory_) return {};
  RunResult result;
  GFXGRAPH_TRY(find_memory(stream, result));
  return buffers_.empty() ? Result<void>{} : order_.follow(stream);
}

Result<void> Bucket::warm(hip::Stream stream, const StateCopies& states, RunResult& result) {
  const std::lock_guard lock(mutex_);
  const auto in_turn = work_.lock_states();
  GFXGRAPH_TRY(ways_.check_broken());
  if (!is_cold()) return {};
  GFXGRAPH_TRY(states.save(stream));
  const Result<void> warmed = warm_up(stream, result);
  const Result<void> put_back = states.put_back(stream);
  return warmed ? put_back : warmed;
}

Result<void> Bucket::warm_up(hip::Stream stream, RunResult& result) {
  if (!has_memory_) GFXGRAPH_TRY(find_memory(stream, result));
  if (!has_memory_) return fail(Status::kNotReady, reason(ways_.next_step()));
  if (buffers_.empty()) return ways_.check_broken();
  GFXGRAPH_TRY(order_.follow(stream));
  if (!ways_.is_settled()) {
    GFXGRAPH_TRY(buffers_.make_zero(stream));
    GFXGRAPH_TRY(run_ways(stream, result));
  }
  if (!ways_.is_settled() || !work_.settings().ways.warm_measures) return {};
  timings_.collect(records_.counts.end_to_end, ways_.choice());
  return measure(stream);
}

Result<void> Bucket::recapture() {
  const std::lock_guard lock(mutex_);
  GFXGRAPH_TRY(order_.wait());
  release_memory();
  order_.forget();
  timings_.collect(records_.counts.end_to_end, ways_.choice());
  timings_.forget_measured();
  ways_.begin();
  has_memory_ = false;
  return {};
}

void Bucket::collect_timings() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) timings_.collect(records_.counts.end_to_end, ways_.choice());
}

}  // namespace gfxgraph::replayer
