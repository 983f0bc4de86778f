#include "recorder/queue/flusher.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/process/signals_blocked.h"

namespace gfxgraph::recorder {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(100);
// In effect while the program waits so often that it leaves the writing to this thread.
constexpr auto kBusyPeriod = std::chrono::milliseconds(1);

}  // namespace

bool Flusher::start(std::function<void()> first, std::function<bool()> round,
                    std::function<void()> last) {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread(
        [this, first = std::move(first), round = std::move(round), last = std::move(last)] {
          first();
          run(round);
          last();
        });
    return true;
  } catch (const std::exception&) {
    return false;  // out of memory, or no thread
  }
}

void Flusher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Flusher::run(const std::function<bool()>& round) {
  std::unique_lock lock(mutex_);
  bool busy = false;
  while (!stop_) {
    // at_wait() sets left_to_it_ and then reads dozes_; here it is the other way round, so that one
    // of the two sides notices.
    dozes_.store(!busy);
    if (!busy && left_to_it_.load()) dozes_.store(false);
    wanted_.wait_for(lock, dozes_.load() ? kPeriod : kBusyPeriod);
    dozes_.store(false);
    busy = left_to_it_.exchange(false);
    lock.unlock();
    if (!round()) return;
    lock.lock();
  }
}

}  // namespace gfxgraph::recorder
