#include "hsa/patience.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/log.h"
#include "hsa/wait.h"

namespace gfxgraph::hsa {
namespace {

// A display driver resets a hanging GPU after 2 to 10 seconds; a host that computes before it lets
// a kernel go on gets more.
constexpr double kDefaultSeconds = 30;
// A kernel that stands still says so much more often.
constexpr uint64_t kFreshNs = 2'000'000'000;

double read_seconds(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  double seconds = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, seconds);
  if (error == std::errc() && stop == end && std::isfinite(seconds) && seconds >= 0 &&
      seconds <= 1e6)
    return seconds;
  log(LogLevel::kWarning, "{}={}: expected seconds in 0..1000000; using {}", variable, text,
      otherwise);
  return otherwise;
}

struct State {
  const double seconds = read_seconds("GFXGRAPH_LIVELOCK_SECONDS", kDefaultSeconds);
  const double hang_seconds = read_seconds("GFXGRAPH_HANG_SECONDS", 0);
  std::mutex mutex;
  uint64_t activity = 0;
  uint64_t quiet_since_ns = 0;
  struct Still {
    uint64_t heard_ns = 0;  // last
    bool changes_memory = false;
  };
  std::map<const emulator::Dispatch*, Still> still;
};

State& state() {
  static auto* const instance = new State();
  return *instance;
}

}  // namespace

bool out_of_patience(const emulator::Standstill& standstill, uint32_t running) {
  State& s = state();
  const uint64_t now = timestamp_ns();
  const std::lock_guard lock(s.mutex);
  const uint64_t activity = internal::activity.load(std::memory_order_relaxed);
  if (s.quiet_since_ns == 0 || activity != s.activity) s.quiet_since_ns = now;
  s.activity = activity;
  s.still[standstill.dispatch] = {now, standstill.changes_memory};
  std::erase_if(s.still, [&](const auto& entry) { return now - entry.second.heard_ns > kFreshNs; });
  if (s.seconds == 0 || s.still.size() < running) return false;
  // What one kernel changes and changes back may be what another waits for.
  const auto changes = [](const auto& entry) { return entry.second.changes_memory; };
  if (running > 1 && std::any_of(s.still.begin(), s.still.end(), changes)) return false;
  if (standstill.sent_message && standstill.reads_host_memory) return false;
  const double quiet = static_cast<double>(now - s.quiet_since_ns) * 1e-9;
  return quiet >= s.seconds &&
         std::chrono::duration<double>(standstill.lasted).count() >= s.seconds;
}

namespace {

emulator::LongRunAnswer report(const emulator::LongRun& run) {
  if (run.reports == 0)
    log(LogLevel::kWarning,
        "a kernel runs long; GFXGRAPH_HANG_SECONDS=N ends a kernel if no wave finishes for N "
        "seconds. Its waves:");
  return emulator::LongRunAnswer::kReport;
}

}  // namespace

emulator::LongRunAnswer judge_long_run(const emulator::LongRun& run) {
  const State& s = state();
  const double seconds = std::chrono::duration<double>(run.without_end).count();
  if (s.hang_seconds != 0 && seconds >= s.hang_seconds) return emulator::LongRunAnswer::kEnd;
  if (s.seconds != 0 && seconds >= std::ldexp(s.seconds, static_cast<int>(run.reports)))
    return report(run);
  return emulator::LongRunAnswer::kGoOn;
}

}  // namespace gfxgraph::hsa
