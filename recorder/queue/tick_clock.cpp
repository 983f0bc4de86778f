#include "recorder/queue/tick_clock.h"

#include <sys/prctl.h>
#include <time.h>

#include <fstream>
#include <string>

namespace gfxgraph::recorder {
namespace {

constinit std::atomic<bool> counters_forbidden{false};

// The kernel stops using a counter that stops, changes its rate, or differs between processors. A
// program may disable reading it for itself.
bool counter_is_fit() noexcept {
#if defined(__x86_64__)
  if (counters_forbidden.load()) return false;
  try {
    int way = PR_TSC_SIGSEGV;
    if (::prctl(PR_GET_TSC, &way) != 0 || way != PR_TSC_ENABLE) return false;
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return (file >> name) && name == "tsc";
  } catch (...) {
    return false;
  }
#else
  return false;
#endif
}

}  // namespace

uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

void TickClock::forbid_counters(bool forbidden) noexcept { counters_forbidden.store(forbidden); }

void TickClock::start() noexcept {
  const bool fit = counter_is_fit();
  began_ = fit ? ordered_ticks() : 0;
  counts_.store(fit, std::memory_order_release);
  before_ = last_ = now();
}

// The thread may be preempted between the two reads: use the closest of a few pairs.
TickClock::Mark TickClock::now() const noexcept {
  Mark best;
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    const uint64_t begin = ticks();
    const uint64_t ns = monotonic_ns();
    const uint64_t end = ticks();
    if (end - begin >= least) continue;
    least = end - begin;
    best = {begin + least / 2, ns};
  }
  return best;
}

void TickClock::mark() noexcept {
  before_ = last_;
  last_ = now();
}

uint64_t TickClock::ns_at(uint64_t ticks) const noexcept {
  if (!counts()) return ticks;
  if (last_.ticks <= before_.ticks || last_.ns <= before_.ns) return last_.ns;  // no time between
  const double rate =
      static_cast<double>(last_.ns - before_.ns) / static_cast<double>(last_.ticks - before_.ticks);
  const double ago = static_cast<double>(static_cast<int64_t>(last_.ticks - ticks)) * rate;
  return ago < 0 ? last_.ns : last_.ns - static_cast<uint64_t>(ago);
}

}  // namespace gfxgraph::recorder
