#include "emulator/engine/schedule/scheduler.h"

#include <algorithm>
#include <system_error>

#include "emulator/engine/schedule/worker.h"

namespace gfxgraph::emulator {

Scheduler::~Scheduler() {
  {
    const std::scoped_lock lock(mutex_);
    quit_ = true;
  }
  stop();
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Scheduler::stop() noexcept { stopping_.store(true, std::memory_order_relaxed); }

void Scheduler::run(Job& job) {
  {
    Worker worker(*this, job, true);
    worker.work();
  }
  if (!job.asked_for_help) return;
  std::unique_lock lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), &job), open_.end());
  left_.wait(lock, [&] { return job.helpers == 0; });
}

void Scheduler::ask_for_help(Job& job) {
  if (threads_ < 2 || job.next_group.load(std::memory_order_relaxed) >= job.launch.group_count)
    return;
  job.asked_for_help = true;
  const std::scoped_lock lock(mutex_);
  open_.push_back(&job);
  try {
    while (helpers_.size() + 1 < threads_) helpers_.emplace_back([this] { helper_loop(); });
  } catch (const std::system_error&) {  // runs with the threads the host can create
  }
  work_.notify_all();
}

void Scheduler::helper_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return quit_ || !open_.empty(); });
    if (quit_) return;
    Job* job = open_.front();
    if (job->next_group.load(std::memory_order_relaxed) >= job->launch.group_count) {
      open_.erase(open_.begin());
      continue;
    }
    ++job->helpers;
    lock.unlock();
    {
      Worker worker(*this, *job, false);
      worker.work();
    }
    lock.lock();
    // The worker left because nothing more can be started, or the job stopped.
    open_.erase(std::remove(open_.begin(), open_.end(), job), open_.end());
    if (--job->helpers == 0) left_.notify_all();
  }
}

std::unique_ptr<ResidentGroup> Scheduler::take_storage() {
  const std::scoped_lock lock(storage_mutex_);
  if (storage_.empty()) return std::make_unique<ResidentGroup>();
  auto storage = std::move(storage_.back());
  storage_.pop_back();
  return storage;
}

void Scheduler::give_storage(std::unique_ptr<ResidentGroup> storage) {
  if (!storage) return;
  const std::scoped_lock lock(storage_mutex_);
  if (storage_.size() < kKeptStorage) storage_.push_back(std::move(storage));
}

}  // namespace gfxgraph::emulator
