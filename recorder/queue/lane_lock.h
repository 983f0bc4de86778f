// The lock of a lane. Its thread takes it at each launch, others a few times a second: entering
// costs that thread one atomic operation, which waits for all writes before it, and leaving none.
// (With membarrier(2) entering would cost none either; but that interrupts the processor of the
// thread that launches, for longer than it saves.)
#pragma once

#include <atomic>

#include "recorder/lock_order.h"

namespace gfxgraph::recorder {

class LaneLock {
 public:
  // The lane's thread.
  void lock() noexcept {
    if constexpr (kLocksAreChecked) HeldRanks::enter(LockRank::kLane);
    for (;;) {
      inside_.exchange(true, std::memory_order_seq_cst);
      if (!wanted_.load(std::memory_order_seq_cst)) [[likely]]
        return;
      inside_.store(false, std::memory_order_release);
      wanted_.wait(true, std::memory_order_acquire);
    }
  }
  void unlock() noexcept {
    inside_.store(false, std::memory_order_release);
    if constexpr (kLocksAreChecked) HeldRanks::left(LockRank::kLane);
  }

  // Any thread, one at a time, not inside of the lock. From the end of wait() to let_go() nobody is
  // inside.
  void want() noexcept { wanted_.store(true, std::memory_order_seq_cst); }
  void wait() const noexcept;
  void let_go() noexcept {
    wanted_.store(false, std::memory_order_release);
    wanted_.notify_all();
  }

 private:
  // Each of the two writes its own before it reads the other's: one of them sees the other.
  std::atomic<bool> inside_{false};
  std::atomic<bool> wanted_{false};
};

}  // namespace gfxgraph::recorder
