// The thread that hands what was gathered to the writer: ten times a second, when much has
// gathered, and for a program that waits so often that it would do little else.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "recorder/lock_order.h"
#include "recorder/queue/tick_clock.h"

namespace gfxgraph::recorder {

class Flusher {
 public:
  Flusher() = default;
  ~Flusher() { stop(); }
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  // On a thread of its own, which takes none of the program's signals: `first`, then `round` again
  // and again until stop() or until it is false, then `last`. False: there is no such thread, and
  // nothing is handed over but by the program's own threads.
  bool start(std::function<void()> first, std::function<bool()> round, std::function<void()> last);
  // Returns when `last` has.
  void stop();
  // Much has gathered. Any thread; no lock.
  void wake() noexcept { wanted_.notify_one(); }

  // The program has waited: what it knows to be done shall be in the file soon. On its own thread,
  // unless that has done so for more than a fiftieth of its time: then here, within a millisecond.
  template <typename Drain>
  void at_wait(Drain&& drain) {
    const uint64_t start = monotonic_ns();
    if (start >= next_wait_ns_.load(std::memory_order_relaxed)) {
      drain();
      const uint64_t end = monotonic_ns();
      next_wait_ns_.store(end + (end - start) * kWaitShare, std::memory_order_relaxed);
      return;
    }
    left_to_it_.store(true);
    if (dozes_.load()) wanted_.notify_one();
  }

 private:
  // For each time that the program's thread writes, it does something else so many times as long.
  static constexpr uint64_t kWaitShare = 50;

  void run(const std::function<bool()>& round);

  std::thread thread_;
  Mutex<LockRank::kLast> mutex_;
  Condition wanted_;
  bool stop_ = false;
  std::atomic<bool> dozes_{false};
  std::atomic<bool> left_to_it_{false};    // by a wait
  std::atomic<uint64_t> next_wait_ns_{0};  // monotonic_ns()
};

}  // namespace gfxgraph::recorder
