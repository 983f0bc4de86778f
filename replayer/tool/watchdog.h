// Ends gfxgraph-replay when its time is up, whatever it is doing: a runtime, a driver or a kernel
// may never return.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace gfxgraph::replayer {

class Watchdog {
 public:
  // After `seconds` (0: never) says on stderr what was not done, and ends the process with
  // kExitFailed. `trace` names the file in the message.
  Watchdog(double seconds, std::string trace);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // What is being done now, a string constant.
  void enter(const char* phase) { phase_.store(phase, std::memory_order_relaxed); }

 private:
  void wait();

  double seconds_;
  std::string trace_;
  std::atomic<const char*> phase_{"reading the trace"};
  std::mutex mutex_;
  std::condition_variable over_;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace gfxgraph::replayer
