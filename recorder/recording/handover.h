// Hands events to the writer, in their order.
#pragma once

#include <mutex>
#include <utility>

#include "recorder/core.h"
#include "recorder/lock_order.h"
#include "recorder/work/deferrals.h"

namespace gfxgraph::recorder {

class Handover : private Part {
 public:
  Handover(const Core& core, Deferrals& deferrals) noexcept : Part(core), deferrals_(deferrals) {}

  // Of the order: who has it writes, or keeps others from writing.
  HandoverMutex& mutex() noexcept { return mutex_; }

  // Any thread, without locks. `all`: also work that waits for host functions, as far as it is
  // known.
  void drain(bool all = false) noexcept;
  void drain_if_full() noexcept;
  // The program waits: what has gathered goes to the kernel's file cache, so that it survives any
  // end of the program.
  void drain_at_wait() noexcept;
  // With mutex(). `lock_model` gives the recorder's lock; false: it did not, and something may be
  // left.
  template <typename LockModel>
  bool drain_in_order(bool all, LockModel&& lock_model) {
    for (bool again = true; again;) {
      {
        const std::unique_lock<ModelMutex> lock = lock_model();
        if (!lock) return false;
        if (!journal_.begun()) return true;
        deferrals_.resolve(all);
        again = !journal_.queue().take();
      }
      again = journal_.write_taken() && again;
    }
    return true;
  }
  // All that the trace is to hold has been appended. With both locks.
  void drain_last();

 private:
  Deferrals& deferrals_;
  HandoverMutex mutex_;
};

}  // namespace gfxgraph::recorder
