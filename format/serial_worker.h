// Runs tasks one after the other on a thread of its own, so that their caller need not wait for
// them. Internal to format/.
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
  // Runs all added tasks.
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  // Any thread. The task must not throw. The caller runs it if no thread can be started. May throw
  // std::bad_alloc; the task is then not run.
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
