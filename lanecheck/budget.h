// What a check may cost: time, wave instructions, memory. A trace comes from a stranger, and a few
// hundred bytes of it can ask for any amount of work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/result.h"

namespace gfxgraph::lanecheck {

struct BudgetLimits {
  double seconds = 3600;  // wall clock; 0: no limit
  uint64_t instructions =
      UINT64_C(100'000'000'000);  // of waves, all launches together; 0: no limit
  uint64_t memory_bytes =
      0;  // buffers and code that live at once; 0: half of this machine's memory
};

// Once a limit is reached it stays so: the check ends, and reason() says which. Thread-safe.
class Budget {
 public:
  explicit Budget(const BudgetLimits& limits);

  // Of a launch that runs: about so many. False when the time is over or the instructions are
  // spent.
  bool spend(uint64_t instructions);
  // A launch has ended: exactly so many; UINT64_MAX: what was spent since the last one ended.
  void settle(uint64_t instructions);
  bool go_on() { return spend(0); }
  // Of a launch that has not begun: false when it needs more than what is left.
  bool can_spend(uint64_t instructions);
  // kOutOfMemory when there is not so much left.
  Result<void> take_memory(uint64_t bytes, const std::string& what);
  void give_memory(uint64_t bytes);

  bool exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
  // "3600 seconds are over (--max-seconds)"; "" when not exhausted.
  std::string reason() const;
  uint64_t memory_limit_bytes() const { return memory_limit_; }

 private:
  void exhaust(std::string reason);

  const BudgetLimits limits_;
  const uint64_t memory_limit_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<uint64_t> instructions_{0};
  uint64_t settled_ = 0;  // of the launches before; the caller's thread only
  std::atomic<uint64_t> memory_{0};
  std::atomic<bool> exhausted_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace gfxgraph::lanecheck
