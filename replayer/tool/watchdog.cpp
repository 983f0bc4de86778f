#include "replayer/tool/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/cli/console.h"
#include "base/cli/exit_code.h"

namespace gfxgraph::replayer {

Watchdog::Watchdog(double seconds, std::string trace)
    : seconds_(seconds), trace_(std::move(trace)) {
  if (seconds > 0) thread_ = std::thread([this] { wait(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::wait() {
  std::unique_lock lock(mutex_);
  if (over_.wait_for(lock, std::chrono::duration<double>(seconds_), [this] { return finished_; }))
    return;
  console::error(
      fmt::format("{}: stopped after {} s (--max-seconds) while {}; this and all later work "
                  "was not done",
                  trace_, seconds_, phase_.load(std::memory_order_relaxed)));
  ::_exit(kExitFailed);
}

}  // namespace gfxgraph::replayer
