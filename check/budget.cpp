#include "check/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file/file.h"

namespace gfxgraph::check {

Budget::Budget(const BudgetLimits& limits)
    : limits_(limits),
      memory_limit_(limits.memory_bytes != 0 ? limits.memory_bytes : physical_memory_bytes() / 2),
      start_(std::chrono::steady_clock::now()) {}

bool Budget::spend(uint64_t instructions) {
  if (exhausted()) return false;
  const uint64_t spent = instructions_.fetch_add(instructions) + instructions;
  if (limits_.instructions != 0 && spent > limits_.instructions) {
    exhaust(fmt::format("the budget of {} wave instructions is spent (--max-instructions)",
                        limits_.instructions));
    return false;
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  if (limits_.seconds > 0 && passed.count() > limits_.seconds) {
    exhaust(
        fmt::format("the time limit of {} seconds is reached (--max-seconds)", limits_.seconds));
    return false;
  }
  return true;
}

void Budget::settle(uint64_t instructions) {
  settled_ = instructions == UINT64_MAX ? instructions_.load() : settled_ + instructions;
  instructions_.store(settled_);
}

bool Budget::can_spend(uint64_t instructions) {
  if (!go_on()) return false;
  const uint64_t spent = std::min(instructions_.load(), limits_.instructions);
  if (limits_.instructions == 0 || instructions <= limits_.instructions - spent) return true;
  exhaust(
      fmt::format("a launch needs {} wave instructions or more, {} of {} are left "
                  "(--max-instructions)",
                  instructions, limits_.instructions - spent, limits_.instructions));
  return false;
}

Result<void> Budget::take_memory(uint64_t bytes, const std::string& what) {
  uint64_t taken = memory_.load();
  while (bytes <= memory_limit_ - taken) {
    if (memory_.compare_exchange_weak(taken, taken + bytes)) return {};
  }
  exhaust(fmt::format("{} needs {} bytes, {} of {} are left (--max-memory)", what, bytes,
                      memory_limit_ - taken, memory_limit_));
  return fail(Status::kOutOfMemory, reason());
}

void Budget::give_memory(uint64_t bytes) { memory_.fetch_sub(bytes); }

void Budget::host_is_out_of_memory() {
  exhaust("this process may have no more memory (--max-memory; ulimit -d)");
}

std::string Budget::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void Budget::exhaust(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = std::move(reason);
  exhausted_.store(true);
}

}  // namespace gfxgraph::check
