#include "emulator/engine/schedule/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "emulator/engine/schedule/progress_check.h"
#include "emulator/engine/schedule/scheduler.h"

namespace gfxgraph::emulator {
namespace {

// Instructions without the end of a wave after which a worker checks its waves. Doubles after each
// check that found progress, so that checks cost a long kernel almost nothing. A round in which all
// waves slept counts as the work that its duration allows.
#ifdef GFXGRAPH_ONE_ISA  // sanitizer build: instructions take fifty times as long
constexpr uint64_t kMinCheckInterval = 1 << 16;
#else
constexpr uint64_t kMinCheckInterval = 1 << 21;
#endif
constexpr uint64_t kMaxCheckInterval = 1 << 28;
constexpr uint64_t kSleptRound = 20000;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t limit_of(const Job& job) {
  const uint64_t limit = job.context.options->livelock_instructions;
  return limit == 0 ? UINT64_MAX : limit;
}

}  // namespace

Watchdog::Watchdog(Job& job, WatchedWaves& waves)
    : job_(job),
      shared_(job.watch),
      waves_(waves),
      limit_(limit_of(job)),
      interval_(kMinCheckInterval),
      reports_(shared_.reports.load(std::memory_order_relaxed)) {
  shared_.workers.fetch_add(1);
}

void Watchdog::leave() {
  bool given_up = false;
  if (job_.stopped.load()) {
    const std::scoped_lock lock(job_.mutex);
    given_up = !shared_.given_up.empty() && !shared_.blocked;
  }
  if (given_up) find_loops();
  shared_.left_workers.fetch_add(1);
  if (has_checked_ || job_.stopped.load()) {
    const std::scoped_lock lock(job_.mutex);
    std::erase(shared_.heartbeats, &heartbeat_);
    // Keeps its rounds in the sum, so that the sum never decreases.
    shared_.left_workers.fetch_add(heartbeat_.rounds.load());
    if (!shared_.given_up.empty()) {
      add_waves(shared_.stuck);
    } else if (has_checked_ && shared_.reports.load(std::memory_order_relaxed) != reports_) {
      add_to_report();
    }
  }
  shared_.workers.fetch_sub(1);
}

void Watchdog::note_work(uint64_t instructions, bool ended_group) {
  effort_ += instructions;
  if (limit_ == UINT64_MAX) return;
  if (ended_group)
    shared_.since_wave_end.store(0, std::memory_order_relaxed);
  else
    shared_.since_wave_end.fetch_add(instructions, std::memory_order_relaxed);
}

void Watchdog::note_idle_round() { note_work(kSleptRound, false); }

void Watchdog::note_wave_end() {
  effort_ = 0;
  heartbeat_.no_end_since.store(0, std::memory_order_relaxed);
  if (limit_ != UINT64_MAX) shared_.since_wave_end.store(0, std::memory_order_relaxed);
}

bool Watchdog::is_over_limit() {
  if (shared_.since_wave_end.load(std::memory_order_relaxed) <= limit_) return false;
  give_up(fmt::format("no wave ended during {} instructions", limit_), false);
  return true;
}

bool Watchdog::check() {
  if (waves_.take_in_more()) {
    effort_ = 0;
    ask_about_long_run(false);
    return false;
  }
  const bool blocked = is_blocked();
  ask_about_long_run(blocked);
  if (blocked) return true;
  effort_ = 0;
  interval_ = std::min(interval_ * 2, kMaxCheckInterval);
  return false;
}

// Whether none of the worker's waves can make progress. Gives up the dispatch if that holds for all
// workers and nothing outside unblocks it.
bool Watchdog::is_blocked() {
  const uint64_t before = begin_check();
  ProgressCheck check(job_.launch);
  for (const auto& group : waves_.resident()) {
    if (check.is_blocked(*group, [&](uint32_t n) { waves_.step(*group, n); })) continue;
    beat();
    beat();
    const std::scoped_lock lock(job_.mutex);
    heartbeat_.blocked_at = WorkerHeartbeat::kMoves;
    return false;
  }
  conclude(before, check.reads_host_memory());
  return true;
}

// Requires the job's mutex. Changes whenever a worker that checks has run waves unwatched, or a
// worker has left.
uint64_t Watchdog::sum_of_heartbeats() const {
  uint64_t sum = shared_.left_workers.load();
  for (const WorkerHeartbeat* heartbeat : shared_.heartbeats)
    sum += heartbeat->rounds.load(std::memory_order_acquire);
  return sum;
}

uint64_t Watchdog::begin_check() {
  const std::scoped_lock lock(job_.mutex);
  if (!has_checked_) {
    shared_.heartbeats.push_back(&heartbeat_);
    // A pending report does not wait for this worker.
    reports_ = shared_.reports.load(std::memory_order_relaxed);
  }
  has_checked_ = true;
  return sum_of_heartbeats();
}

void Watchdog::conclude(uint64_t before, bool reads_host) {
  BlockedDispatch blocked;
  {
    const std::scoped_lock lock(job_.mutex);
    heartbeat_.blocked_at = before;
    heartbeat_.reads_host = reads_host;
    // Other workers are running, or checked before some wave ran: check again.
    if (shared_.heartbeats.size() != shared_.workers.load() || sum_of_heartbeats() != before)
      return;
    for (const WorkerHeartbeat* heartbeat : shared_.heartbeats) {
      if (heartbeat->blocked_at != before) return;
      blocked.reads_host_memory = blocked.reads_host_memory || heartbeat->reads_host;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!shared_.blocked_since || shared_.blocked_sum != before) shared_.blocked_since = now;
    shared_.blocked_sum = before;
    blocked.lasted = now - *shared_.blocked_since;
  }
  blocked.dispatch = &job_.launch.dispatch;
  blocked.sent_message = job_.context.messages.load(std::memory_order_relaxed) != 0;
  const auto& ask = job_.context.options->give_up;
  if (!ask || ask(blocked))
    give_up("no wave can make progress: each one waits, or repeats a loop without changing memory",
            true);
}

void Watchdog::give_up(std::string why, bool blocked) {
  const std::scoped_lock lock(job_.mutex);
  if (!job_.fault && shared_.given_up.empty()) {
    shared_.given_up = std::move(why);
    shared_.blocked = blocked;
  }
  job_.stopped.store(true, std::memory_order_relaxed);
}

// ---- long runs ----

void Watchdog::ask_about_long_run(bool blocked) {
  const auto& ask = job_.context.options->long_run;
  if (!ask) return;
  const int64_t now = steady_ns();
  if (heartbeat_.no_end_since.load(std::memory_order_relaxed) == 0)
    heartbeat_.no_end_since.store(now, std::memory_order_relaxed);
  LongRun run;
  run.dispatch = &job_.launch.dispatch;
  run.blocked = blocked;
  {
    const std::scoped_lock lock(job_.mutex);
    // Waves of a worker that has not checked yet have ended recently.
    if (shared_.silent_workers != 0 || shared_.heartbeats.size() != shared_.workers.load()) return;
    int64_t since = 0;
    for (const WorkerHeartbeat* heartbeat : shared_.heartbeats) {
      const int64_t of_worker = heartbeat->no_end_since.load(std::memory_order_relaxed);
      if (of_worker == 0) return;
      since = std::max(since, of_worker);
    }
    run.without_end = std::chrono::nanoseconds(now - since);
    run.reports = shared_.reports.load(std::memory_order_relaxed);
  }
  const LongRunAnswer answer = ask(run);
  if (answer == LongRunAnswer::kEnd)
    give_up(fmt::format("no wave ended for {:.3g} s",
                        std::chrono::duration<double>(run.without_end).count()),
            false);
  if (answer != LongRunAnswer::kReport) return;
  const std::scoped_lock lock(job_.mutex);
  // Another worker has requested a report, too.
  if (shared_.reports.load(std::memory_order_relaxed) != run.reports) return;
  shared_.report = WaveSnapshot();
  shared_.without_end = run.without_end;
  shared_.silent_workers = static_cast<uint32_t>(shared_.heartbeats.size());
  shared_.reports.store(run.reports + 1, std::memory_order_relaxed);
}

void Watchdog::answer_report() {
  if (shared_.reports.load(std::memory_order_relaxed) == reports_) [[likely]]
    return;
  if (has_checked_) find_loops();
  const std::scoped_lock lock(job_.mutex);
  // The report does not wait for workers that joined since.
  if (has_checked_) add_to_report();
  reports_ = shared_.reports.load(std::memory_order_relaxed);
}

// Requires the job's mutex.
void Watchdog::add_to_report() {
  add_waves(shared_.report);
  if (--shared_.silent_workers != 0) return;
  try {
    shared_.tell_long_run(shared_.without_end, shared_.report);
  } catch (const std::bad_alloc&) {  // then no message
  }
}

// The waves keep running meanwhile.
void Watchdog::find_loops() {
  try {
    ProgressCheck check(job_.launch);
    for (const auto& group : waves_.resident())
      check.find_loops(*group, [&](uint32_t n) { waves_.step(*group, n); });
  } catch (const std::bad_alloc&) {  // then the report names places without their loops
  }
}

void Watchdog::add_waves(WaveSnapshot& to) const noexcept {
  to.claimed += waves_.claimed();
  try {
    for (const auto& group : waves_.resident()) add_places(to.waves, *group);
  } catch (const std::bad_alloc&) {  // the list holds as many as memory allows
  }
}

}  // namespace gfxgraph::emulator
