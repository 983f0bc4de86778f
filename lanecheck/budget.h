// Limits the cost of a check: time, wave instructions, memory. A trace is untrusted input, and a
// few hundred bytes of it can request any amount of work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
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

// Called before each launch, by the thread that runs the check; may be empty.
using LaunchProgress = std::function<void(uint64_t launch, uint64_t of)>;

// A reached limit stays reached: the check ends, and reason() names the limit. Thread-safe.
class Budget {
 public:
  explicit Budget(const BudgetLimits& limits);

  // For a running launch, approximately. False when the time limit is reached or the instructions
  // are spent.
  bool spend(uint64_t instructions);
  // A launch has ended, exactly; UINT64_MAX: the amount since the last one ended.
  void settle(uint64_t instructions);
  bool go_on() { return spend(0); }
  // For a launch that has not begun: false if it needs more than the remaining budget.
  bool can_spend(uint64_t instructions);
  // kOutOfMemory if less is left.
  Result<void> take_memory(uint64_t bytes, const std::string& what);
  void give_memory(uint64_t bytes);

  bool exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
  // "the time limit of 3600 seconds is reached (--max-seconds)"; "" if not exhausted.
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
