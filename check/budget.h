// Limits the cost of a check: time, wave instructions, memory. A trace is untrusted input, and a
// few hundred bytes can request any amount of work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/result.h"

namespace gfxgraph::check {

struct BudgetLimits {
  double seconds = 3600;  // wall clock; 0: no limit
  uint64_t instructions =
      UINT64_C(100'000'000'000);  // wave instructions of all launches; 0: no limit
  // Live buffers, code with what is decoded and found out about it, findings and their text; 0:
  // half of this machine's memory.
  uint64_t memory_bytes = 0;
};

// Called before each launch, on the thread that runs the check; may be empty. `of`: number of
// launches.
using LaunchProgress = std::function<void(uint64_t launch, uint64_t of)>;

// Once a limit is reached, the budget stays exhausted: the check ends, and reason() names the
// limit. Thread-safe, except settle().
class Budget {
 public:
  explicit Budget(const BudgetLimits& limits);

  // Counts instructions of a running launch, approximately. False if the time or instruction limit
  // is reached.
  bool spend(uint64_t instructions);
  // Call when a launch has ended, with its exact count, which replaces what spend() counted for it;
  // UINT64_MAX: unknown, keep that.
  void settle(uint64_t instructions);
  bool go_on() { return spend(0); }
  // Call before a launch: false, and the budget is exhausted, if it needs more than what remains.
  bool can_spend(uint64_t instructions);
  // kOutOfMemory, and the budget is exhausted, if less is left. `what`: for the message.
  Result<void> take_memory(uint64_t bytes, const std::string& what);
  void give_memory(uint64_t bytes);
  // The process may have no more memory, whatever the budget has left: the budget is exhausted.
  void host_is_out_of_memory();
  uint64_t memory_left_bytes() const { return memory_limit_ - memory_.load(); }

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
  uint64_t settled_ = 0;  // of earlier launches; only for the thread that runs the check
  std::atomic<uint64_t> memory_{0};
  std::atomic<bool> exhausted_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace gfxgraph::check
