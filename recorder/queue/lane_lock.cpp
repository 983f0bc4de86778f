#include "recorder/queue/lane_lock.h"

#include <chrono>
#include <thread>

#include "recorder/no_cancel.h"

namespace gfxgraph::recorder {

// The lane's thread is inside for less than a microsecond, unless it has lost its processor; if
// this one has a higher priority, that comes back only when this one sleeps.
void LaneLock::wait() const noexcept {
  constexpr int kTurns = 200;
  for (int turn = 0; inside_.load(std::memory_order_seq_cst); ++turn) {
    if (turn < kTurns) {
      __builtin_ia32_pause();
    } else {
      const NoCancel own;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

}  // namespace gfxgraph::recorder
