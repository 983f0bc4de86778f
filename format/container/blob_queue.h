// Writes chunks on background threads, from a bounded number of buffers. Internal to format/.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::format {

class BlobQueue {
 public:
  using Buffer = std::unique_ptr<std::byte[]>;
  struct Job {
    BlobId id;
    Buffer buffer;
    size_t size_bytes = 0;
  };

  // `perform` runs on the queue's threads. It must not throw, and must pass the job's buffer to
  // give_back().
  BlobQueue(size_t buffer_bytes, size_t most_buffers, unsigned most_threads,
            std::function<void(Job)> perform);
  // Waits until all added jobs have been performed.
  ~BlobQueue();
  BlobQueue(const BlobQueue&) = delete;
  BlobQueue& operator=(const BlobQueue&) = delete;

  [[nodiscard]] size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  // A buffer of buffer_bytes(). Waits while all are in use. May throw std::bad_alloc.
  Buffer take_buffer();
  void give_back(Buffer buffer) noexcept;
  // Queues a job whose buffer came from take_buffer(). If no thread can be started, the job runs on
  // the calling thread.
  void add(Job job);

 private:
  void start_threads();
  void work() noexcept;

  const size_t buffer_bytes_;
  const size_t most_buffers_;
  const unsigned most_threads_;
  const std::function<void(Job)> perform_;

  std::mutex mutex_;
  std::condition_variable buffer_free_;
  std::condition_variable job_there_;
  std::vector<Buffer> free_;  // last used at the end: its pages are resident
  size_t made_ = 0;
  std::vector<Job> jobs_;  // ring; never more jobs than buffers
  size_t first_ = 0;
  size_t waiting_ = 0;
  bool started_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gfxgraph::format
