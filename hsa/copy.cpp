#include "hsa/copy.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "hsa/queue/delays.h"
#include "hsa/queue/wait.h"
#include "hsa/queue/watchdog.h"

namespace gfxgraph::hsa {
namespace {

struct Job {
  CopyShape shape;
  std::vector<Signal*> dependencies;
  Signal* completion;
};

bool is_ready(const std::vector<Signal*>& dependencies) {
  return std::all_of(dependencies.begin(), dependencies.end(), [](Signal* signal) {
    return signal->value().load(std::memory_order_seq_cst) < 1;
  });
}

void run(const CopyShape& shape, Signal* completion) {
  const uint64_t start = timestamp_ns();
  copy_now(shape);
  if (completion != nullptr) completion->complete(start, timestamp_ns());
}

class CopyThread {
 public:
  static CopyThread& instance() {
    static auto* const thread = new CopyThread();
    return *thread;
  }

  void add(Job job) {
    for (Signal* signal : job.dependencies) watch(*signal, point_);
    {
      const std::lock_guard lock(mutex_);
      if (!started_) {
        started_ = true;
        std::thread([this] { loop(); }).detach();
      }
      jobs_.push_back(std::move(job));
    }
    point_.wake();
  }

 private:
  void loop() {
    while (true) {
      const uint32_t ticket = point_.ticket();
      std::list<Job> job;
      bool idle = false;
      {
        const std::lock_guard lock(mutex_);
        const auto ready = std::find_if(jobs_.begin(), jobs_.end(), [](const Job& waiting) {
          return is_ready(waiting.dependencies);
        });
        if (ready != jobs_.end()) job.splice(job.begin(), jobs_, ready);
        idle = jobs_.empty();
      }
      if (job.empty()) {
        // With open jobs, poll: device code may store to a signal without a message.
        point_.wait(ticket, idle ? std::chrono::nanoseconds(std::chrono::hours(1))
                                 : std::chrono::nanoseconds(std::chrono::milliseconds(10)));
        continue;
      }
      for (Signal* signal : job.front().dependencies) unwatch(*signal, point_);
      delay();
      run(job.front().shape, job.front().completion);
    }
  }

  std::mutex mutex_;
  bool started_ = false;
  std::list<Job> jobs_;
  WaitPoint point_;
};

}  // namespace

void copy_now(const CopyShape& shape) noexcept {
  note_activity();
  for (uint64_t plane = 0; plane < shape.planes; ++plane) {
    std::byte* to = shape.to + plane * shape.to_slice_bytes;
    const std::byte* from = shape.from + plane * shape.from_slice_bytes;
    for (uint64_t row = 0; row < shape.rows; ++row) {
      std::memmove(to, from, shape.row_bytes);
      to += shape.to_pitch_bytes;
      from += shape.from_pitch_bytes;
    }
  }
  notify_memory_waits();
}

void copy_later(const CopyShape& shape, std::vector<Signal*> dependencies, Signal* completion) {
  // Running a small ready copy here costs less than handing it to the thread.
  constexpr uint64_t kInlineBytes = 256 * 1024;
  const uint64_t bytes = shape.row_bytes * shape.rows * shape.planes;
  if (bytes <= kInlineBytes && !delays() && is_ready(dependencies)) return run(shape, completion);
  CopyThread::instance().add({shape, std::move(dependencies), completion});
}

}  // namespace gfxgraph::hsa
