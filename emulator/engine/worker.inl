// One thread's share of a job: it starts workgroups, gives their waves turns, and looks after those
// that do not end. Included by scheduler.cpp only.
#pragma once

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "emulator/analysis/closure.h"
#include "emulator/engine/scheduler.h"

namespace gfxgraph::emulator {
namespace {

// Turns of the waves, in instructions, when their workgroup starts and when it has passed a
// barrier, and by how much each further turn is longer, up to kTimeSlice.
constexpr uint64_t kStartTurn = 32;
constexpr uint64_t kBarrierTurn = 16;
constexpr uint64_t kLongerTurn = 32;
// So much work is worth waking other threads for (about a tenth of a millisecond).
constexpr uint64_t kHelpInstructions = 10000;
// While some waves sleep: what the others do until those go on is likely to be in vain (locks).
constexpr uint64_t kShortSlice = 32;
// Instructions of each wave, and rounds in which all sleep, without an end before more workgroups
// are taken in. One that ends is not replaced while there are more than a few.
constexpr uint64_t kStaleInstructions = 32000;
constexpr unsigned kSleptRounds = 16;
constexpr size_t kFewGroups = 4;
constexpr uint64_t kMostClaimed = 16;  // workgroups
constexpr unsigned kIdleRoundsBeforeSleep = 1024;
// Work without a wave's end after which a worker looks for a standstill, in instructions; doubled
// after each look in vain, so that looking costs a long kernel next to nothing. A round in which
// all slept counts as much as the time it takes.
#ifdef GFXGRAPH_ONE_ISA  // a sanitizer's build: instructions take fifty times as long
constexpr uint64_t kFirstLook = 1 << 16;
#else
constexpr uint64_t kFirstLook = 1 << 21;
#endif
constexpr uint64_t kLastLook = 1 << 28;
constexpr uint64_t kSleptRound = 20000;
// How many steps are followed for a proof (closure.h), which cost much more than running them: a
// part of the work since the last look.
constexpr uint64_t kFewestSteps = 1 << 16;
constexpr uint64_t kPatiencePerStep = 64;
constexpr uint64_t kProofWaves = 64;  // a wave may take one part of so many

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr uint32_t kHostFloatDefaults = 0x1f80;  // MXCSR: to nearest, denormals, no traps

}  // namespace

class Scheduler::Worker {
 public:
  Worker(Scheduler& scheduler, Job& job, bool caller)
      : scheduler_(scheduler), job_(job), caller_(caller) {
    // The host program may flush denormals, or round otherwise.
    _mm_setcsr(kHostFloatDefaults);
    job_.workers.fetch_add(1);
  }
  ~Worker() {
    leave();
    _mm_setcsr(host_control_);
    job_.instructions.fetch_add(total_, std::memory_order_relaxed);
    job_.waves.fetch_add(waves_, std::memory_order_relaxed);
    note_last_clock();
    for (auto& group : resident_) scheduler_.give_storage(std::move(group));
  }

  // Until nothing is left to do for this worker.
  void work() {
    try {
      take_turns();
    } catch (const std::bad_alloc&) {
      Fault fault;
      fault.kind = FaultKind::kOutOfMemory;
      report(std::move(fault));
    }
  }

 private:
  void note_last_clock() {
    uint64_t last = job_.last_clock.load(std::memory_order_relaxed);
    while (last < last_clock_ &&
           !job_.last_clock.compare_exchange_weak(last, last_clock_, std::memory_order_relaxed)) {
    }
  }

  void take_turns() {
    while (!job_.stopped.load(std::memory_order_relaxed)) {
      if (scheduler_.stopping()) return stop();
      if (job_.meeting.called()) [[unlikely]] {
        job_.meeting.attend(attendance());
        continue;
      }
      while (resident_.size() < target_ && start_group()) {
      }
      if (resident_.empty()) return;
      if (job_.reports.load(std::memory_order_relaxed) != reports_) [[unlikely]]
        join_report();
      if (effort_ >= patience_) {
        const bool still = look_for_standstill();
        ask_about_long_run();
        if (still) {
          wait_a_little();
          continue;
        }
        effort_ = 0;
        patience_ = std::min(patience_ * 2, kLastLook);
      }
      beat();
      const Round round = run_round();
      beat();
      if (caller_ && !job_.asked_for_help && is_worth_help()) scheduler_.ask_for_help(job_);
      if (round.ended_group || job_.stopped.load(std::memory_order_relaxed)) {
        stale_ = slept_ = idle_ = 0;
        continue;
      }
      const bool idle = round.all_slept && !round.read_clock;
      if (idle) effort_ += kSleptRound;
      if (job_.since_wave_end.load(std::memory_order_relaxed) > limit())
        return give_up(fmt::format("no wave ended during {} instructions", limit()), false);
      if (round.all_slept ? ++slept_ >= kSleptRounds : (stale_ += slice_) >= kStaleInstructions) {
        stale_ = slept_ = 0;
        target_ = std::min<size_t>(target_ * 2, most_groups());
      }
      if (idle && (target_ == most_groups() || all_started())) wait_a_little();
    }
  }

  struct Round {
    bool ended_group = false;
    bool all_slept = true;
    bool read_clock = false;  // a wave that slept waits for the clock, which passes by its rounds
  };

  uint32_t most_groups() const {
    return std::max(1u, kMaxResidentWaves / std::max(job_.launch.max_waves, 1u));
  }
  // Much was done already, or is left to do if all workgroups are like those before.
  bool is_worth_help() const {
    if (total_ > kHelpInstructions) return true;
    const uint64_t left = job_.launch.group_count - std::min(job_.launch.group_count, started_);
    return started_ != 0 &&
           static_cast<double>(total_) / static_cast<double>(started_) * static_cast<double>(left) >
               static_cast<double>(2 * kHelpInstructions);
  }
  // Only this thread writes it.
  void beat() {
    pulse_.rounds.store(pulse_.rounds.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
  }

  uint64_t limit() const {
    const uint64_t limit = job_.context.options->livelock_instructions;
    return limit == 0 ? UINT64_MAX : limit;
  }

  // Everything that could run waits for something outside: another workgroup's thread, or the host.
  void wait_a_little() {
    if (++idle_ < kIdleRoundsBeforeSleep)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  bool all_started() const {
    return claimed_ >= claimed_end_ &&
           job_.next_group.load(std::memory_order_relaxed) >= job_.launch.group_count;
  }

  // Takes the next workgroups of the launch: several at a time while there are many, because all
  // workers ask for them.
  bool claim_groups() {
    const uint64_t count = job_.launch.group_count;
    const uint64_t next = job_.next_group.load(std::memory_order_relaxed);
    if (next >= count) return false;
    const uint64_t share = (count - next) / (kMostClaimed * scheduler_.threads_);
    const uint64_t wanted = std::clamp<uint64_t>(share, 1, kMostClaimed);
    claimed_ = job_.next_group.fetch_add(wanted, std::memory_order_relaxed);
    claimed_end_ = std::min(claimed_ + wanted, count);
    return claimed_ < claimed_end_;
  }

  bool start_group() {
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

  Round run_round() {
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
    effort_ += ran;
    const uint64_t slice = scheduler_.time_slice_;
    slice_ = some_slept_ && !round.all_slept ? std::min(kShortSlice, slice) : slice;
    if (limit() != UINT64_MAX) {
      if (round.ended_group)
        job_.since_wave_end.store(0, std::memory_order_relaxed);
      else
        job_.since_wave_end.fetch_add(ran, std::memory_order_relaxed);
    }
    return round;
  }

  void spare_storage(size_t n) {
    if (spare_) scheduler_.give_storage(std::move(spare_));
    spare_ = std::move(resident_[n]);
    resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(n));
  }

  uint64_t first_turn(const ResidentGroup& g, uint64_t in_step) const {
    return scheduler_.in_step_ && g.shape.wave_count > 1 ? in_step : scheduler_.time_slice_;
  }

  // Gives every wave of the workgroup about a slice, in as many turns and through as many barriers
  // as that takes.
  // Returns whether all waves that could run went to sleep.
  bool run_group(ResidentGroup& g, uint64_t& ran) {
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
      // Waves that ended do not count at a barrier.
      if (waiting == g.live && g.live != 0) {
        pass_barrier(g);
        g.turn = first_turn(g, kBarrierTurn);
        slept = false;
      }
    } while (g.live != 0 && used < budget && !slept &&
             !job_.stopped.load(std::memory_order_relaxed));
    ran += used;
    return slept;
  }

  void pass_barrier(ResidentGroup& g) {
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

  // `other_wave`: that is at another barrier, 0: none is.
  void tell_of_barrier(const ResidentGroup& g, uint32_t first_wave, uint32_t other_wave) {
    constexpr uint64_t kBarrierBytes = 4;  // waves wait behind it
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

  uint64_t run_wave(ResidentGroup& g, uint32_t n, uint64_t instructions) {
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
      effort_ = 0;
      pulse_.no_end_since.store(0, std::memory_order_relaxed);
      if (job_.backend.wave_end != nullptr) {
        job_.backend.wave_end(job_.observer, wave.observer_state, wave);
        if (wave.upper != nullptr)
          job_.backend.wave_end(job_.observer, wave.upper->observer_state, *wave.upper);
      }
      if (limit() != UINT64_MAX) job_.since_wave_end.store(0, std::memory_order_relaxed);
    } else if (state == WaveExit::kFault) {
      report(job_.describe(wave, g));
    }
    return ran;
  }

  void report(Fault fault) {
    const std::scoped_lock lock(job_.mutex);
    if (!job_.fault) job_.fault = std::move(fault);
    job_.stopped.store(true, std::memory_order_relaxed);
  }

  void stop() {
    Fault fault;
    fault.kind = FaultKind::kStopped;
    fault.detail = "the engine was stopped";
    report(std::move(fault));
  }

  // ---- standstill ----

  // Steps all waves of this worker. False: one of them went on, or more workgroups can be taken in.
  // True: none did. Gives the dispatch up when that holds for all workers and nobody else helps.
  bool look_for_standstill() {
    const bool more = claimed_ < claimed_end_ ||
                      job_.next_group.load(std::memory_order_relaxed) < job_.launch.group_count;
    if (more && resident_.size() < most_groups()) {
      target_ = std::min<size_t>(std::max(target_, resident_.size()) * 2, most_groups());
      patience_ = std::max(patience_ / 2, kFirstLook);  // this was no look
      return false;
    }
    const uint64_t before = join_look();
    StandstillProbe probe(job_.launch);
    bool can_go_on = false;
    for (const auto& group : resident_) {
      if (stands_still(probe, *group)) continue;
      beat();
      beat();
      const std::scoped_lock lock(job_.mutex);
      pulse_.still_at = WorkerPulse::kMoves;
      can_go_on = true;
      break;
    }
    if (can_go_on) {
      look_for_closure();
      return false;
    }
    return conclude(before, probe.reads_host_memory());
  }

  Attendance attendance() const {
    Attendance mine;
    for (const auto& group : resident_) mine.groups.push_back(group.get());
    mine.may_start_more = resident_.size() < most_groups() && !all_started();
    return mine;
  }

  // Waves that change something, but perhaps never get anywhere. They run on meanwhile.
  void look_for_closure() {
    const Attendance mine = attendance();
    if (job_.stopped.load() || mine.groups.empty() || mine.may_start_more) return;
    // Alone first: the others need not wait for a proof that fails.
    const ClosureProof::Limits most;
    proof_steps_ = std::clamp(patience_ / kPatiencePerStep, proof_steps_, most.all);
    ClosureProof proof(job_.launch, job_.context,
                       {std::min(proof_steps_ / kProofWaves, most.wave), proof_steps_});
    // What went on the last time is likely to go on.
    std::vector<ResidentGroup*> groups = mine.groups;
    std::ranges::stable_partition(groups, [&](const auto* group) { return group == goes_on_; });
    if (!proof.holds(groups)) {
      goes_on_ = proof.failed();
      return;
    }
    job_.meeting.hold(mine, job_.workers, [&](const Attendance& all) { judge(all); });
  }

  void judge(const Attendance& all) {
    ClosureProof proof(job_.launch, job_.context, ClosureProof::Limits());
    // Those that are not known to hold come first.
    const std::vector<ResidentGroup*> groups(all.groups.rbegin(), all.groups.rend());
    if (job_.stopped.load() || all.may_start_more || !proof.holds(groups)) {
      job_.closed_since.reset();
      return;
    }
    patience_ = kFirstLook / 2;  // look again soon
    const auto now = std::chrono::steady_clock::now();
    const auto foreseen = [&](uint64_t state) { return job_.closed_states.contains(state); };
    // Waves that have left the states of the last time were helped.
    if (!job_.closed_since || !std::ranges::all_of(proof.states(), foreseen)) {
      job_.closed_since = now;
      job_.closed_states = proof.states();
    }
    Standstill standstill;
    standstill.dispatch = &job_.launch.dispatch;
    standstill.lasted = now - *job_.closed_since;
    standstill.reads_host_memory = proof.reads_host_memory();
    standstill.changes_memory = proof.changes_memory();
    standstill.sent_message = job_.context.messages.load(std::memory_order_relaxed) != 0;
    const auto& ask = job_.context.options->give_up;
    if (ask && !ask(standstill)) return;
    give_up(standstill.changes_memory ? "no wave can terminate under any schedule: each one waits "
                                        "or repeats a loop, and memory values repeat"
                                      : "no wave can make progress: each one waits, or repeats a "
                                        "loop without changing memory",
            true);
  }

  bool stands_still(StandstillProbe& probe, ResidentGroup& g) {
    uint64_t ran = 0;
    const bool still = probe.stands_still(g, [&](uint32_t n) { ran += run_wave(g, n, 1); });
    total_ += ran;
    return still;
  }

  // With the job's mutex held: changes whenever a worker that looks has run waves unwatched, or a
  // worker has left.
  uint64_t sum_of_pulses() const {
    uint64_t sum = job_.left_workers.load();
    for (const WorkerPulse* pulse : job_.pulses)
      sum += pulse->rounds.load(std::memory_order_acquire);
    return sum;
  }

  uint64_t join_look() {
    const std::scoped_lock lock(job_.mutex);
    if (!looked_) {
      job_.pulses.push_back(&pulse_);
      // An open report does not wait for this worker.
      reports_ = job_.reports.load(std::memory_order_relaxed);
    }
    looked_ = true;
    return sum_of_pulses();
  }

  bool conclude(uint64_t before, bool reads_host) {
    Standstill standstill;
    {
      const std::scoped_lock lock(job_.mutex);
      pulse_.still_at = before;
      pulse_.reads_host = reads_host;
      // Others run, or have looked before somebody ran: look again.
      if (job_.pulses.size() != job_.workers.load() || sum_of_pulses() != before) return true;
      for (const WorkerPulse* pulse : job_.pulses) {
        if (pulse->still_at != before) return true;
        standstill.reads_host_memory = standstill.reads_host_memory || pulse->reads_host;
      }
      const auto now = std::chrono::steady_clock::now();
      if (!job_.still_since || job_.still_sum != before) job_.still_since = now;
      job_.still_sum = before;
      standstill.lasted = now - *job_.still_since;
    }
    standstill.dispatch = &job_.launch.dispatch;
    standstill.sent_message = job_.context.messages.load(std::memory_order_relaxed) != 0;
    const auto& ask = job_.context.options->give_up;
    if (!ask || ask(standstill))
      give_up(
          "no wave can make progress: each one waits, or repeats a loop without changing memory",
          true);
    return true;
  }

  void give_up(std::string why, bool proven) {
    const std::scoped_lock lock(job_.mutex);
    if (!job_.fault && job_.given_up.empty()) {
      job_.given_up = std::move(why);
      job_.loops_known = proven;
    }
    job_.stopped.store(true, std::memory_order_relaxed);
  }

  // ---- long runs ----

  void ask_about_long_run() {
    const auto& ask = job_.context.options->long_run;
    if (!ask) return;
    const int64_t now = steady_ns();
    if (pulse_.no_end_since.load(std::memory_order_relaxed) == 0)
      pulse_.no_end_since.store(now, std::memory_order_relaxed);
    LongRun run;
    run.dispatch = &job_.launch.dispatch;
    {
      const std::scoped_lock lock(job_.mutex);
      // A worker that has not looked yet has had waves that ended.
      if (job_.silent_workers != 0 || job_.pulses.size() != job_.workers.load()) return;
      int64_t since = 0;
      for (const WorkerPulse* pulse : job_.pulses) {
        const int64_t of_worker = pulse->no_end_since.load(std::memory_order_relaxed);
        if (of_worker == 0) return;
        since = std::max(since, of_worker);
      }
      run.without_end = std::chrono::nanoseconds(now - since);
      run.reports = job_.reports.load(std::memory_order_relaxed);
    }
    const LongRunAnswer answer = ask(run);
    if (answer == LongRunAnswer::kEnd)
      give_up(fmt::format("no wave ended for {:.3g} s",
                          std::chrono::duration<double>(run.without_end).count()),
              false);
    if (answer != LongRunAnswer::kReport) return;
    const std::scoped_lock lock(job_.mutex);
    if (job_.reports.load(std::memory_order_relaxed) != run.reports) return;  // another asked, too
    job_.report = WaveCensus();
    job_.without_end = run.without_end;
    job_.silent_workers = static_cast<uint32_t>(job_.pulses.size());
    job_.reports.store(run.reports + 1, std::memory_order_relaxed);
  }

  void join_report() {
    const std::scoped_lock lock(job_.mutex);
    // One that has come since is not waited for.
    if (looked_) add_to_report();
    reports_ = job_.reports.load(std::memory_order_relaxed);
  }

  // With the mutex held.
  void add_to_report() {
    add_waves(job_.report, false);
    if (--job_.silent_workers != 0) return;
    try {
      job_.tell_long_run(job_.without_end, job_.report);
    } catch (const std::bad_alloc&) {  // then without a word
    }
  }

  // The worker is done. When the dispatch was given up, says where its waves are.
  void leave() {
    job_.left_workers.fetch_add(1);
    if (looked_ || job_.stopped.load()) {
      const std::scoped_lock lock(job_.mutex);
      job_.pulses.erase(std::remove(job_.pulses.begin(), job_.pulses.end(), &pulse_),
                        job_.pulses.end());
      // As if it were still there: the sum never goes back.
      job_.left_workers.fetch_add(pulse_.rounds.load());
      if (!job_.given_up.empty()) {
        add_waves(job_.stuck, job_.loops_known);
      } else if (looked_ && job_.reports.load(std::memory_order_relaxed) != reports_) {
        add_to_report();
      }
    }
    job_.workers.fetch_sub(1);
    job_.meeting.note_departure();
  }

  void add_waves(WaveCensus& to, bool loops_known) const noexcept {
    to.claimed += claimed_end_ - claimed_;
    try {
      for (const auto& group : resident_) add_places(to.waves, *group, loops_known);
    } catch (const std::bad_alloc&) {  // the list is as long as there was memory for it
    }
  }

  Scheduler& scheduler_;
  Job& job_;
  const bool caller_;
  const GroupStarter starter_{job_.launch, job_.backend, job_.observer, job_.context};
  uint64_t claimed_ = 0;  // the next workgroup to start, of those that are this worker's
  uint64_t claimed_end_ = 0;
  uint64_t started_ = 0;
  size_t target_ = 1;
  uint64_t slice_ = scheduler_.time_slice_;
  uint64_t stale_ = 0;
  unsigned slept_ = 0;
  bool some_slept_ = false;      // in this round
  bool slept_by_clock_ = false;  // and had read the clock since it slept before
  uint64_t last_clock_ = 0;      // of waves that ended
  unsigned idle_ = 0;
  uint64_t effort_ = 0;  // since a wave ended, or the last look for a standstill
  uint64_t patience_ = kFirstLook;
  uint64_t proof_steps_ = kFewestSteps;
  const ResidentGroup* goes_on_ = nullptr;  // that was the first in the last proof that failed
  bool looked_ = false;
  uint32_t reports_ = job_.reports.load(std::memory_order_relaxed);  // the last one seen
  WorkerPulse pulse_;
  uint64_t total_ = 0;  // instructions
  uint64_t waves_ = 0;
  const uint32_t host_control_ = _mm_getcsr();
  std::vector<std::unique_ptr<ResidentGroup>> resident_;
  std::unique_ptr<ResidentGroup> spare_;
  friend class Scheduler;
};

}  // namespace gfxgraph::emulator
