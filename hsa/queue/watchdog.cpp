#include "hsa/queue/watchdog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/environment.h"
#include "base/log.h"
#include "hsa/queue/wait.h"

namespace gfxgraph::hsa {
namespace {

// Display drivers reset a hung GPU after 2 to 10 seconds. The default is longer, because a host may
// compute before it unblocks a kernel.
constexpr double kDefaultSeconds = 30;
// For running waves: the emulator is much slower than a GPU, so a long run may be correct.
constexpr double kDefaultHangSeconds = 600;
// A blocked kernel reports much more often than this.
constexpr uint64_t kFreshNs = 2'000'000'000;

constexpr double kMostSeconds = 1e6;

struct WatchdogState {
  const double seconds =
      environment_seconds("GFXGRAPH_LIVELOCK_SECONDS", kMostSeconds, kDefaultSeconds);
  const bool hang_is_set = std::getenv("GFXGRAPH_HANG_SECONDS") != nullptr;
  const double hang_seconds =
      environment_seconds("GFXGRAPH_HANG_SECONDS", kMostSeconds, kDefaultHangSeconds);
  std::mutex mutex;
  uint64_t activity = 0;
  uint64_t quiet_since_ns = 0;
  std::map<const emulator::Dispatch*, uint64_t> blocked;  // time of its last report, ns
};

WatchdogState& watchdog_state() {
  static auto* const instance = new WatchdogState();
  return *instance;
}

// Seconds since the last detected activity. Requires the mutex.
double quiet_seconds(WatchdogState& s, uint64_t now) {
  const uint64_t activity = internal::activity.load(std::memory_order_relaxed);
  if (s.quiet_since_ns == 0 || activity != s.activity) s.quiet_since_ns = now;
  s.activity = activity;
  return static_cast<double>(now - s.quiet_since_ns) * 1e-9;
}

}  // namespace

bool ends_blocked_kernel(const emulator::BlockedDispatch& blocked, uint32_t running) {
  WatchdogState& s = watchdog_state();
  const uint64_t now = timestamp_ns();
  const std::lock_guard lock(s.mutex);
  const double quiet = quiet_seconds(s, now);
  s.blocked[blocked.dispatch] = now;
  std::erase_if(s.blocked, [&](const auto& entry) { return now - entry.second > kFreshNs; });
  if (s.seconds == 0 || s.blocked.size() < running) return false;
  if (blocked.sent_message && blocked.reads_host_memory) return false;
  return quiet >= s.seconds && std::chrono::duration<double>(blocked.lasted).count() >= s.seconds;
}

emulator::LongRunAnswer on_long_run(const emulator::LongRun& run) {
  WatchdogState& s = watchdog_state();
  const double seconds = std::chrono::duration<double>(run.without_end).count();
  double quiet = 0;
  {
    const std::lock_guard lock(s.mutex);
    quiet = quiet_seconds(s, timestamp_ns());
  }
  const bool may_end = s.hang_is_set || (!run.blocked && quiet >= s.hang_seconds);
  if (s.hang_seconds != 0 && seconds >= s.hang_seconds && may_end)
    return emulator::LongRunAnswer::kEnd;
  if (s.seconds == 0 || seconds < std::ldexp(s.seconds, static_cast<int>(run.reports)))
    return emulator::LongRunAnswer::kGoOn;
  if (run.reports == 0 && s.hang_seconds == 0)
    log(LogLevel::kWarning,
        "a kernel runs long; GFXGRAPH_HANG_SECONDS=N ends a kernel if no wave finishes for N "
        "seconds. Its waves:");
  else if (run.reports == 0)
    log(LogLevel::kWarning,
        "a kernel runs long; the agent ends it if no wave finishes for {:g} s "
        "(GFXGRAPH_HANG_SECONDS). Its waves:",
        s.hang_seconds);
  return emulator::LongRunAnswer::kReport;
}

}  // namespace gfxgraph::hsa
