// Watchdog for dispatches that do not end.
//
// A worker checks its waves after enough work without a wave's end, and then ever more rarely. If
// no wave of any worker can make progress (progress_check.h), the dispatch ends with kDeadlock,
// unless help may come from outside (EngineOptions::give_up). If waves run on without one of them
// ending, a limit ends it: instructions (EngineOptions::livelock_instructions), or whatever the
// caller decides by time (EngineOptions::long_run). Either way the fault lists all waves with place
// and loop, and so does a report of a dispatch that goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/engine/schedule/resident_group.h"
#include "emulator/engine/schedule/wave_places.h"

namespace gfxgraph::emulator {

struct Job;

// What the watchdog of a worker shows those of the others.
struct WorkerHeartbeat {
  static constexpr uint64_t kMoves = UINT64_MAX;
  std::atomic<uint64_t> rounds{0};  // begun and ended; odd while one runs
  // Steady clock, ns: the first check since a wave of this worker ended; 0: none yet.
  std::atomic<int64_t> no_end_since{0};
  // Guarded by Job::mutex: the sum of all heartbeats when its waves were last found to be blocked.
  uint64_t blocked_at = kMoves;
  bool reads_host = false;
};

// The watchdogs' part of a job.
struct WatchState {
  std::atomic<uint64_t> since_wave_end{0};  // instructions; only with a limit
  std::atomic<uint32_t> workers{0};         // that work on the job
  std::atomic<uint64_t> left_workers{0};    // that have left it
  // A report of a dispatch that goes on: its number, from 1. Changes with the job's mutex held.
  std::atomic<uint32_t> reports{0};
  std::function<void(std::chrono::nanoseconds without_end, const WaveSnapshot&)> tell_long_run;
  // Guarded by the job's mutex, all of the following:
  std::vector<WorkerHeartbeat*> heartbeats;  // of workers that have checked
  std::optional<std::chrono::steady_clock::time_point> blocked_since;
  uint64_t blocked_sum = 0;
  // Set when the dispatch was given up: why, and where all its waves were.
  std::string given_up;
  bool blocked = false;  // no wave could make progress; else a limit was reached
  WaveSnapshot stuck;
  uint32_t silent_workers = 0;  // that have not told the report yet where their waves are
  std::chrono::nanoseconds without_end{0};
  WaveSnapshot report;
};

// What a watchdog needs of its worker.
class WatchedWaves {
 public:
  virtual const std::vector<std::unique_ptr<ResidentGroup>>& resident() const = 0;
  // Workgroups that the worker has taken and not started.
  virtual uint64_t claimed() const = 0;
  // Lets the worker take in more workgroups; false: it has all that it can have.
  virtual bool take_in_more() = 0;
  // Runs one instruction of wave n.
  virtual void step(ResidentGroup& group, uint32_t n) = 0;

 protected:
  ~WatchedWaves() = default;
};

// Of one worker, used by its thread only.
class Watchdog {
 public:
  // Both are referred to.
  Watchdog(Job& job, WatchedWaves& waves);
  // The worker is done with the job. When the dispatch was given up, says where its waves are.
  void leave();

  // Around each round of the worker.
  void beat() {
    heartbeat_.rounds.store(heartbeat_.rounds.load(std::memory_order_relaxed) + 1,
                            std::memory_order_release);
  }
  void note_work(uint64_t instructions, bool ended_group);
  // A round in which all waves slept.
  void note_idle_round();
  void note_wave_end();
  // Whether the limit of instructions was reached; the dispatch is given up then.
  bool is_over_limit();

  bool is_due() const { return effort_ >= interval_; }
  // Checks the waves. True: none of them can make progress, so the worker waits a little before the
  // next check.
  bool check();
  // Once per round: where another worker asked for a report, adds this one's waves.
  void answer_report();

 private:
  bool is_blocked();
  uint64_t sum_of_heartbeats() const;
  uint64_t begin_check();
  void conclude(uint64_t before, bool reads_host);
  void give_up(std::string why, bool blocked);
  void ask_about_long_run(bool blocked);
  void find_loops();
  void add_to_report();
  void add_waves(WaveSnapshot& to) const noexcept;

  Job& job_;
  WatchState& shared_;
  WatchedWaves& waves_;
  const uint64_t limit_;
  WorkerHeartbeat heartbeat_;
  uint64_t effort_ = 0;  // instructions since a wave ended, or the last check
  uint64_t interval_;
  bool has_checked_ = false;
  uint32_t reports_;  // the last one seen
};

}  // namespace gfxgraph::emulator
