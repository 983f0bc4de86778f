#include "emulator/engine/schedule/worker.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace gfxgraph::emulator {
namespace {

// Lengths of a wave's turn, in instructions: after its workgroup starts, after a barrier, and the
// increment for each further turn, up to kTimeSlice.
constexpr uint64_t kStartTurn = 32;
constexpr uint64_t kBarrierTurn = 16;
constexpr uint64_t kLongerTurn = 32;
// From this much work on, waking other threads pays off (about 0.1 ms).
constexpr uint64_t kHelpInstructions = 10000;
// Slice of the other waves while some sleep: until those wake, running is probably a spin wait
// (lock).
constexpr uint64_t kShortSlice = 32;
// Instructions of each wave, and rounds in which all waves sleep, without an end of a wave before
// the worker starts more workgroups. While more than a few are resident, one that ends is not
// replaced.
constexpr uint64_t kStaleInstructions = 32000;
constexpr unsigned kSleptRounds = 16;
constexpr size_t kFewGroups = 4;
constexpr uint64_t kMostClaimed = 16;  // workgroups
constexpr unsigned kIdleRoundsBeforeSleep = 1024;
constexpr uint32_t kHostFloatDefaults = 0x1f80;  // MXCSR: to nearest, denormals on, no traps

}  // namespace

Worker::Worker(Scheduler& scheduler, Job& job, bool caller)
    : scheduler_(scheduler),
      job_(job),
      caller_(caller),
      starter_(job.launch, job.backend, job.observer, job.context),
      watchdog_(job, *this),
      slice_(scheduler.time_slice_),
      host_control_(_mm_getcsr()) {
  // The host program may have set flush-to-zero or another rounding mode.
  _mm_setcsr(kHostFloatDefaults);
}

Worker::~Worker() {
  watchdog_.leave();
  _mm_setcsr(host_control_);
  job_.instructions.fetch_add(total_, std::memory_order_relaxed);
  job_.waves.fetch_add(waves_, std::memory_order_relaxed);
  note_last_clock();
  for (auto& group : resident_) scheduler_.give_storage(std::move(group));
  scheduler_.give_storage(std::move(spare_));
}

void Worker::work() {
  try {
    take_turns();
  } catch (const std::bad_alloc&) {
    Fault fault;
    fault.kind = FaultKind::kOutOfMemory;
    report(std::move(fault));
  }
}

void Worker::take_turns() {
  while (!job_.stopped.load(std::memory_order_relaxed)) {
    if (scheduler_.stopping()) return stop();
    while (resident_.size() < target_ && start_group()) {
    }
    if (resident_.empty()) return;
    watchdog_.answer_report();
    if (watchdog_.is_due() && watchdog_.check()) {
      wait_a_little();
      continue;
    }
    watchdog_.beat();
    const Round round = run_round();
    watchdog_.beat();
    if (caller_ && !job_.asked_for_help && is_worth_help()) scheduler_.ask_for_help(job_);
    if (round.ended_group || job_.stopped.load(std::memory_order_relaxed)) {
      stale_ = slept_ = idle_ = 0;
      continue;
    }
    const bool idle = round.all_slept && !round.read_clock;
    if (idle) watchdog_.note_idle_round();
    if (watchdog_.is_over_limit()) return;
    if (round.all_slept ? ++slept_ >= kSleptRounds : (stale_ += slice_) >= kStaleInstructions) {
      stale_ = slept_ = 0;
      target_ = std::min<size_t>(target_ * 2, most_groups());
    }
    if (idle && (target_ == most_groups() || all_started())) wait_a_little();
  }
}

bool Worker::take_in_more() {
  const bool more = claimed_ < claimed_end_ ||
                    job_.next_group.load(std::memory_order_relaxed) < job_.launch.group_count;
  if (!more || resident_.size() >= most_groups()) return false;
  target_ = std::min<size_t>(std::max(target_, resident_.size()) * 2, most_groups());
  return true;
}

void Worker::note_last_clock() {
  uint64_t last = job_.last_clock.load(std::memory_order_relaxed);
  while (last < last_clock_ &&
         !job_.last_clock.compare_exchange_weak(last, last_clock_, std::memory_order_relaxed)) {
  }
}

uint32_t Worker::most_groups() const {
  return std::max(1u, kMaxResidentWaves / std::max(job_.launch.max_waves, 1u));
}

// Whether much work is done, or much remains if all workgroups resemble the earlier ones.
bool Worker::is_worth_help() const {
  if (total_ > kHelpInstructions) return true;
  const uint64_t left = job_.launch.group_count - std::min(job_.launch.group_count, started_);
  return started_ != 0 &&
         static_cast<double>(total_) / static_cast<double>(started_) * static_cast<double>(left) >
             static_cast<double>(2 * kHelpInstructions);
}

// All waves wait for something outside: another worker's workgroup, or the host.
void Worker::wait_a_little() {
  if (++idle_ < kIdleRoundsBeforeSleep)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

bool Worker::all_started() const {
  return claimed_ >= claimed_end_ &&
         job_.next_group.load(std::memory_order_relaxed) >= job_.launch.group_count;
}

// Claims the next workgroups of the launch: several at once while many remain, because all workers
// contend for them.
bool Worker::claim_groups() {
  const uint64_t count = job_.launch.group_count;
  const uint64_t next = job_.next_group.load(std::memory_order_relaxed);
  if (next >= count) return false;
  const uint64_t share = (count - next) / (kMostClaimed * scheduler_.threads_);
  const uint64_t wanted = std::clamp<uint64_t>(share, 1, kMostClaimed);
  claimed_ = job_.next_group.fetch_add(wanted, std::memory_order_relaxed);
  claimed_end_ = std::min(claimed_ + wanted, count);
  return claimed_ < claimed_end_;
}

bool Worker::start_group() {
  if (claimed_ >= claimed_end_ && !claim_groups()) return false;
  const uint64_t index = claimed_++;
  ++started_;
  std::unique_ptr<ResidentGroup> group = spare_ ? std::move(spare_) : scheduler_.take_storage();
  starter_.start(*group, index);
  group->turn = first_turn(*group, kStartTurn);
  waves_ += group->shape.wave_count;
  resident_.push_back(std::move(group));
  return true;
}

Worker::Round Worker::run_round() {
  Round round;
  uint64_t ran = 0;
  some_slept_ = false;
  slept_by_clock_ = false;
  for (size_t n = 0; n < resident_.size();) {
    ResidentGroup& g = *resident_[n];
    const bool slept = run_group(g, ran);
    if (job_.stopped.load(std::memory_order_relaxed)) break;
    if (g.live == 0) {
      round.ended_group = true;
      spare_storage(n);
      if (target_ > kFewGroups) --target_;
      continue;
    }
    round.all_slept = round.all_slept && slept;
    ++n;
  }
  round.read_clock = slept_by_clock_;
  total_ += ran;
  const uint64_t slice = scheduler_.time_slice_;
  slice_ = some_slept_ && !round.all_slept ? std::min(kShortSlice, slice) : slice;
  watchdog_.note_work(ran, round.ended_group);
  return round;
}

void Worker::spare_storage(size_t n) {
  if (spare_) scheduler_.give_storage(std::move(spare_));
  spare_ = std::move(resident_[n]);
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(n));
}

uint64_t Worker::first_turn(const ResidentGroup& g, uint64_t in_step) const {
  return scheduler_.in_step_ && g.shape.wave_count > 1 ? in_step : scheduler_.time_slice_;
}

// Gives every wave of the workgroup about one slice, in as many turns and through as many barriers
// as that takes. Returns whether all waves that could run went to sleep.
bool Worker::run_group(ResidentGroup& g, uint64_t& ran) {
  const uint64_t budget = slice_ * g.shape.wave_count;
  uint64_t used = 0;
  bool slept = true;
  do {
    slept = true;
    uint32_t waiting = 0;
    const uint64_t turn = std::min(g.turn, slice_);
    g.turn = std::min(g.turn + kLongerTurn, scheduler_.time_slice_);
    for (uint32_t n = 0; n < g.shape.wave_count; ++n) {
      const WaveExit& state = g.states[n];
      if (state == WaveExit::kEnded) continue;
      if (state != WaveExit::kBarrier) {
        used += run_wave(g, n, turn);
        if (job_.stopped.load(std::memory_order_relaxed)) break;
        slept = slept && state == WaveExit::kYield;
      }
      waiting += state == WaveExit::kBarrier;
    }
    // Barriers ignore waves that ended.
    if (waiting == g.live && g.live != 0) {
      pass_barrier(g);
      g.turn = first_turn(g, kBarrierTurn);
      slept = false;
    }
  } while (g.live != 0 && used < budget && !slept && !job_.stopped.load(std::memory_order_relaxed));
  ran += used;
  return slept;
}

void Worker::pass_barrier(ResidentGroup& g) {
  const Inst* first = nullptr;
  uint32_t first_wave = 0;
  uint32_t other_wave = 0;
  uint64_t last_clock = 0;
  for (uint32_t n = 0; n < g.shape.wave_count; ++n)
    if (g.states[n] == WaveExit::kBarrier) last_clock = std::max(last_clock, g.waves[n]->clock);
  for (uint32_t n = 0; n < g.shape.wave_count; ++n) {
    if (g.states[n] != WaveExit::kBarrier) continue;
    g.states[n] = WaveExit::kSlice;
    g.waves[n]->clock = last_clock;
    const Inst* const at = g.waves[n]->resume;
    if (first == nullptr) {
      first = at;
      first_wave = n;
    } else if (other_wave == 0 && at->pc != first->pc) [[unlikely]] {
      other_wave = n;
    }
  }
  if (other_wave != 0 || g.live != g.shape.wave_count) [[unlikely]]
    tell_of_barrier(g, first_wave, other_wave);
}

// `other_wave`: a wave at another barrier; 0: there is none.
void Worker::tell_of_barrier(const ResidentGroup& g, uint32_t first_wave, uint32_t other_wave) {
  constexpr uint64_t kBarrierBytes = 4;  // waves resume after the instruction
  const auto& tell = job_.context.options->on_uneven_barrier;
  UnevenBarrier barrier;
  barrier.dispatch = &job_.launch.dispatch;
  barrier.workgroup = g.shape.id;
  barrier.pc[0] = g.waves[first_wave]->resume->pc - kBarrierBytes;
  barrier.wave[0] = first_wave;
  if (other_wave != 0) {
    barrier.pc[1] = g.waves[other_wave]->resume->pc - kBarrierBytes;
    barrier.wave[1] = other_wave;
    if (tell)
      tell(barrier);
    else if (!job_.barriers_told.exchange(true))
      job_.warn_of_barriers(barrier, g);
  }
  if (!tell || g.live == g.shape.wave_count) return;
  const auto ended = std::find(g.states.begin(), g.states.end(), WaveExit::kEnded);
  if (ended == g.states.end()) return;
  barrier.ended = true;
  barrier.wave[1] = static_cast<uint32_t>(ended - g.states.begin());
  barrier.pc[1] = g.waves[barrier.wave[1]]->resume->pc;
  tell(barrier);
}

uint64_t Worker::run_wave(ResidentGroup& g, uint32_t n, uint64_t instructions) {
  Wave& wave = *g.waves[n];
  WaveExit& state = g.states[n];
  wave.slice = instructions;
  const uint64_t ran = job_.backend.run(wave);
  state = wave.exit;
  if (state == WaveExit::kYield) {
    some_slept_ = true;
    slept_by_clock_ = slept_by_clock_ || wave.read_clock;
    wave.read_clock = false;
  }
  if (state == WaveExit::kEnded) {
    --g.live;
    last_clock_ = std::max(last_clock_, wave.clock);
    watchdog_.note_wave_end();
    if (job_.backend.wave_end != nullptr) {
      job_.backend.wave_end(job_.observer, wave.observer_state, wave);
      if (wave.upper != nullptr)
        job_.backend.wave_end(job_.observer, wave.upper->observer_state, *wave.upper);
    }
  } else if (state == WaveExit::kFault) {
    report(job_.describe(wave, g));
  }
  return ran;
}

void Worker::report(Fault fault) {
  const std::scoped_lock lock(job_.mutex);
  if (!job_.fault) job_.fault = std::move(fault);
  job_.stopped.store(true, std::memory_order_relaxed);
}

void Worker::stop() {
  Fault fault;
  fault.kind = FaultKind::kStopped;
  fault.detail = "the engine was stopped";
  report(std::move(fault));
}

}  // namespace gfxgraph::emulator
