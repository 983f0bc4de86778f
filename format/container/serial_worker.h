// Runs tasks one after another on a background thread. Internal to format/.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace gfxgraph::format {

class SerialWorker {
 public:
  SerialWorker() = default;
  // Waits until all added tasks have run.
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  // Thread-safe. The task must not throw. If no thread can be started, it runs on the calling
  // thread. May throw std::bad_alloc; the task then does not run.
  void add(std::function<void()> task);

 private:
  void start();
  void work() noexcept;

  std::mutex mutex_;
  std::condition_variable there_;
  std::deque<std::function<void()>> tasks_;
  bool started_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gfxgraph::format
