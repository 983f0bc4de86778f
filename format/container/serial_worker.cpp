#include "format/container/serial_worker.h"

#include <exception>
#include <utility>

#include "base/process/signals_blocked.h"

namespace gfxgraph::format {

SerialWorker::~SerialWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  there_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SerialWorker::add(std::function<void()> task) {
  {
    std::unique_lock lock(mutex_);
    if (!started_) start();
    if (thread_.joinable()) {
      tasks_.push_back(std::move(task));
      lock.unlock();
      there_.notify_one();
      return;
    }
  }
  task();
}

void SerialWorker::start() {
  started_ = true;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::exception&) {
    // The callers run their tasks themselves.
  }
}

void SerialWorker::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    there_.wait(lock, [this] { return !tasks_.empty() || stop_; });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace gfxgraph::format
