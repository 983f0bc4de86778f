// When launches were made. Asking the system costs a launch more than anything else that is noted
// of it: where the system itself reads the processor's counter for that, so does this, and says
// later what time it was.
#pragma once

#include <atomic>
#include <cstdint>

namespace gfxgraph::recorder {

// CLOCK_MONOTONIC.
uint64_t monotonic_ns() noexcept;

class TickClock {
 public:
  // Before the first stamp. Until then the system is asked.
  void start() noexcept;
  // For tests: clocks that start from now on find no counter that is fit, as on some machines.
  static void forbid_counters(bool forbidden) noexcept;

  // Any thread; no lock.
  [[gnu::hot]] uint64_t ticks() const noexcept {
#if defined(__x86_64__)
    if (counts()) [[likely]]
      return __builtin_ia32_rdtsc();
#endif
    return monotonic_ns();
  }
  // Only if counts(): later than all that the thread has learned, and earlier than all that others
  // learn from it. The counters of all processors agree, as the system relies on that, too.
  [[gnu::hot]] static uint64_t ordered_ticks() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
  // After the last stamp that ns_at() is asked for until the next mark. One thread at a time, as
  // for ns_at().
  void mark() noexcept;
  // Of a stamp between the last two marks: on a straight line between what the system's clock said
  // at them, so that its rate is the system's own.
  uint64_t ns_at(uint64_t ticks) const noexcept;

  bool counts() const noexcept { return counts_.load(std::memory_order_acquire); }
  uint64_t began() const noexcept { return began_; }  // if counts(): what it counted at start()

 private:
  struct Mark {
    uint64_t ticks = 0;
    uint64_t ns = 0;
  };
  Mark now() const noexcept;

  uint64_t began_ = 0;  // set before counts_
  std::atomic<bool> counts_{false};
  Mark before_;
  Mark last_;
};

}  // namespace gfxgraph::recorder
