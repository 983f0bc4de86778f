// Runs the workgroups of a launch on the calling thread and on helper threads.
//
// Workgroups start in order. A worker keeps a few of them resident and gives their waves time
// slices; when none ends, it takes in more, so that a workgroup that waits for another one does not
// wait for ever. A watchdog ends dispatches that do not end by themselves (watchdog.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "emulator/engine/backend.h"
#include "emulator/engine/launch.h"
#include "emulator/engine/schedule/resident_group.h"
#include "emulator/engine/schedule/watchdog.h"

namespace gfxgraph::emulator {

// Of one worker, so that workgroups that wait for later ones find room.
inline constexpr uint32_t kMaxResidentWaves = 4096;

struct Job {
  Job(const Launch& l, const Backend& b, void* o) : launch(l), backend(b), observer(o) {}
  const Launch& launch;
  const Backend& backend;
  void* observer;
  DispatchContext context;
  // On cache lines of their own: workers write the one often and read the other after every slice.
  alignas(64) std::atomic<uint64_t> next_group{0};
  alignas(64) std::atomic<bool> stopped{false};  // a fault, or stop()
  std::atomic<uint64_t> instructions{0};         // workers add theirs when they leave
  std::atomic<uint64_t> waves{0};
  std::atomic<uint64_t> last_clock{0};  // of all waves that ended; workers add theirs, too
  std::mutex mutex;
  std::optional<Fault> fault;  // the first one
  // What a fault needs to know that the scheduler does not.
  std::function<Fault(const Wave&, const ResidentGroup&)> describe;
  std::function<void(const UnevenBarrier&, const ResidentGroup&)> warn_of_barriers;
  std::atomic<bool> barriers_told{false};
  WatchState watch;
  unsigned helpers = 0;         // guarded by the scheduler's mutex
  bool asked_for_help = false;  // caller's thread only
};

// The most instructions of a wave before it is the next one's turn, unless asked otherwise. Turns
// are short when a workgroup starts or has passed a barrier, and then become longer. So its waves
// are about as close to each other as on a device, where they run at the same time: kernels that
// lack a barrier rely on that (docs/results/debian-tests.md). rocPRIM's adjacent_find hangs when a
// wave is 30 instructions ahead after a barrier, rocSOLVER's stein_kernel goes wrong at 64.
constexpr uint32_t kTimeSlice = 512;

class Worker;

class Scheduler {
 public:
  // `time_slice`: of every turn, in instructions; 0: as kTimeSlice says.
  Scheduler(unsigned threads, uint32_t time_slice)
      : threads_(threads),
        time_slice_(time_slice != 0 ? time_slice : kTimeSlice),
        in_step_(time_slice == 0) {
    storage_.reserve(kKeptStorage);
  }
  ~Scheduler();
  // Runs all workgroups of the job; returns when no thread works on it any more.
  void run(Job& job);
  void stop() noexcept;
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

 private:
  friend class Worker;
  void ask_for_help(Job& job);
  void helper_loop();
  std::unique_ptr<ResidentGroup> take_storage();
  void give_storage(std::unique_ptr<ResidentGroup> storage);

  const unsigned threads_;
  const uint64_t time_slice_;
  const bool in_step_;  // turns are short at first
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable work_;  // helpers wait for jobs
  std::condition_variable left_;  // callers wait for helpers
  std::vector<Job*> open_;        // jobs that want help
  std::vector<std::thread> helpers_;
  bool quit_ = false;
  static constexpr size_t kKeptStorage = 64;
  std::mutex storage_mutex_;
  std::vector<std::unique_ptr<ResidentGroup>> storage_;
};

}  // namespace gfxgraph::emulator
