// One thread's share of a dispatch: starts workgroups and gives their waves turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/engine/schedule/resident_group.h"
#include "emulator/engine/schedule/scheduler.h"
#include "emulator/engine/schedule/watchdog.h"

namespace gfxgraph::emulator {

// Used by one thread, from its construction to its end.
class Worker final : private WatchedWaves {
 public:
  // `caller`: of the thread that runs the job, which calls for helpers.
  Worker(Scheduler& scheduler, Job& job, bool caller);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Until nothing is left to do for this worker.
  void work();

 private:
  struct Round {
    bool ended_group = false;
    bool all_slept = true;
    bool read_clock = false;  // a wave that slept waits for the clock, which passes by its rounds
  };

  const std::vector<std::unique_ptr<ResidentGroup>>& resident() const override { return resident_; }
  uint64_t claimed() const override { return claimed_end_ - claimed_; }
  bool take_in_more() override;
  void step(ResidentGroup& group, uint32_t n) override { total_ += run_wave(group, n, 1); }

  void take_turns();
  void note_last_clock();
  uint32_t most_groups() const;
  bool is_worth_help() const;
  void wait_a_little();
  bool all_started() const;
  bool claim_groups();
  bool start_group();
  Round run_round();
  void spare_storage(size_t n);
  uint64_t first_turn(const ResidentGroup& g, uint64_t in_step) const;
  bool run_group(ResidentGroup& g, uint64_t& ran);
  void pass_barrier(ResidentGroup& g);
  void tell_of_barrier(const ResidentGroup& g, uint32_t first_wave, uint32_t other_wave);
  uint64_t run_wave(ResidentGroup& g, uint32_t n, uint64_t instructions);
  void report(Fault fault);
  void stop();

  Scheduler& scheduler_;
  Job& job_;
  const bool caller_;
  const GroupStarter starter_;
  Watchdog watchdog_;
  uint64_t claimed_ = 0;  // the next workgroup to start, of those that are this worker's
  uint64_t claimed_end_ = 0;
  uint64_t started_ = 0;
  size_t target_ = 1;
  uint64_t slice_;
  uint64_t stale_ = 0;
  unsigned slept_ = 0;
  bool some_slept_ = false;      // in this round
  bool slept_by_clock_ = false;  // and had read the clock since it slept before
  uint64_t last_clock_ = 0;      // of waves that ended
  unsigned idle_ = 0;
  uint64_t total_ = 0;  // instructions
  uint64_t waves_ = 0;
  const uint32_t host_control_;
  std::vector<std::unique_ptr<ResidentGroup>> resident_;
  std::unique_ptr<ResidentGroup> spare_;
};

}  // namespace gfxgraph::emulator
