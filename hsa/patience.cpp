#include "hsa/patience.h"

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

double read_seconds() {
  const char* const text = std::getenv("GFXGRAPH_LIVELOCK_SECONDS");
  if (text == nullptr) return kDefaultSeconds;
  double seconds = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, seconds);
  if (error == std::errc() && stop == end && std::isfinite(seconds) && seconds >= 0 &&
      seconds <= 1e6)
    return seconds;
  log(LogLevel::kWarning,
      "GFXGRAPH_LIVELOCK_SECONDS={} is no number of seconds from 0 to 1000000: "
      "{} is used",
      text, kDefaultSeconds);
  return kDefaultSeconds;
}

struct State {
  const double seconds = read_seconds();
  std::mutex mutex;
  uint64_t activity = 0;
  uint64_t quiet_since_ns = 0;
  std::map<const emulator::Dispatch*, uint64_t> still;  // when each was last heard of, ns
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
  s.still[standstill.dispatch] = now;
  std::erase_if(s.still, [&](const auto& entry) { return now - entry.second > kFreshNs; });
  if (s.seconds == 0 || s.still.size() < running) return false;
  if (standstill.sent_message && standstill.reads_host_memory) return false;
  const double quiet = static_cast<double>(now - s.quiet_since_ns) * 1e-9;
  return quiet >= s.seconds &&
         std::chrono::duration<double>(standstill.lasted).count() >= s.seconds;
}

}  // namespace gfxgraph::hsa
