#include "format/container/blob_queue.h"

#include <exception>
#include <new>
#include <utility>

#include "base/process/signals_blocked.h"

namespace gfxgraph::format {

BlobQueue::BlobQueue(size_t buffer_bytes, size_t most_buffers, unsigned most_threads,
                     std::function<void(Job)> perform)
    : buffer_bytes_(buffer_bytes),
      most_buffers_(most_buffers),
      most_threads_(most_threads),
      perform_(std::move(perform)),
      jobs_(most_buffers) {
  free_.reserve(most_buffers);
}

BlobQueue::~BlobQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  job_there_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

BlobQueue::Buffer BlobQueue::take_buffer() {
  std::unique_lock lock(mutex_);
  buffer_free_.wait(lock, [this] { return !free_.empty() || made_ < most_buffers_; });
  if (!free_.empty()) {
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  Buffer made(new std::byte[buffer_bytes_]);
  ++made_;
  return made;
}

void BlobQueue::give_back(Buffer buffer) noexcept {
  if (!buffer) return;
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }
  buffer_free_.notify_one();
}

void BlobQueue::add(Job job) {
  {
    std::unique_lock lock(mutex_);
    if (!started_) start_threads();
    if (!threads_.empty()) {
      jobs_[(first_ + waiting_++) % jobs_.size()] = std::move(job);
      lock.unlock();
      job_there_.notify_one();
      return;
    }
  }
  perform_(std::move(job));
}

void BlobQueue::start_threads() {
  started_ = true;
  const SignalsBlocked blocked;
  try {
    while (threads_.size() < most_threads_) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // The existing threads do the work.
  }
}

void BlobQueue::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    job_there_.wait(lock, [this] { return waiting_ != 0 || stop_; });
    if (waiting_ == 0) return;
    Job job = std::move(jobs_[first_]);
    first_ = (first_ + 1) % jobs_.size();
    --waiting_;
    lock.unlock();
    perform_(std::move(job));
    lock.lock();
  }
}

}  // namespace gfxgraph::format
