#include "hsa/handlers.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "hsa/patience.h"
#include "hsa/wait.h"

namespace gfxgraph::hsa {
namespace {

class HandlerThread;

// One registered function. Owned by the thread's set; in the ready list at most once.
class Handler final : public Watcher {
 public:
  Handler(HandlerThread& thread, SignalCondition when, hsa_amd_signal_handler function, void* arg)
      : thread_(thread), when_(when), function_(function), arg_(arg) {}
  void signalled() noexcept override;
  // Called by the thread: false when the handler is finished and must go.
  bool look();
  Signal& signal() { return *when_.signal; }

 private:
  friend class HandlerThread;
  HandlerThread& thread_;
  SignalCondition when_;
  hsa_amd_signal_handler function_;
  void* arg_;
  std::atomic<bool> queued_{false};
};

class HandlerThread {
 public:
  static HandlerThread& instance() {
    static auto* const thread = new HandlerThread();
    return *thread;
  }

  void add(Handler* handler) {
    {
      const std::lock_guard lock(mutex_);
      if (!started_) {
        started_ = true;
        std::thread([this] { loop(); }).detach();
      }
      handlers_.insert(handler);
    }
    // Queued from the start: until it is pushed here, a notification cannot run and delete it.
    handler->queued_.store(true, std::memory_order_seq_cst);
    watch(handler->signal(), *handler);
    push(handler);  // the condition may hold already
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return ready_.empty() && !busy_;
  }

  void push(Handler* handler) noexcept {
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(handler);
    }
    point_.wake();
  }

 private:
  // Device code may change a signal without a message: a look at all of them now and then.
  static constexpr auto kSlowLook = std::chrono::milliseconds(100);

  void loop() {
    while (true) {
      const uint32_t ticket = point_.ticket();
      Handler* const handler = pop();
      if (handler == nullptr) {
        point_.wait(ticket, idle_time());
        if (point_.ticket() == ticket) queue_all();
        continue;
      }
      handler->queued_.store(false, std::memory_order_seq_cst);
      if (!handler->look()) remove(handler);
    }
  }

  std::chrono::nanoseconds idle_time() {
    const std::lock_guard lock(mutex_);
    return handlers_.empty() ? std::chrono::nanoseconds(std::chrono::hours(1)) : kSlowLook;
  }

  Handler* pop() {
    const std::lock_guard lock(mutex_);
    busy_ = !ready_.empty();
    if (!busy_) return nullptr;
    Handler* const handler = ready_.front();
    ready_.pop_front();
    return handler;
  }

  void queue_all() {
    const std::lock_guard lock(mutex_);
    for (Handler* handler : handlers_) {
      if (!handler->queued_.exchange(true)) ready_.push_back(handler);
    }
  }

  void remove(Handler* handler) {
    unwatch(handler->signal(), *handler);
    {
      // From here nobody can queue it; it may have been queued since it was popped.
      const std::lock_guard lock(mutex_);
      handlers_.erase(handler);
      std::erase(ready_, handler);
    }
    delete handler;
  }

  std::mutex mutex_;
  bool started_ = false;
  bool busy_ = false;  // a handler was taken from the list and has not ended
  std::unordered_set<Handler*> handlers_;
  std::deque<Handler*> ready_;
  WaitPoint point_;
};

void Handler::signalled() noexcept {
  if (!queued_.exchange(true, std::memory_order_seq_cst)) thread_.push(this);
}

bool Handler::look() {
  const int64_t value = when_.signal->value().load(std::memory_order_seq_cst);
  if (!condition_holds(when_.condition, value, when_.compare)) return true;
  note_activity();
  if (!function_(value, arg_)) return false;
  signalled();  // armed again: the condition may still hold
  return true;
}

}  // namespace

void add_handler(Signal& signal, hsa_signal_condition_t condition, int64_t compare,
                 hsa_amd_signal_handler handler, void* arg) {
  HandlerThread& thread = HandlerThread::instance();
  thread.add(new Handler(thread, {&signal, condition, compare}, handler, arg));
}

void drain_handlers(uint64_t limit_ns) {
  const uint64_t start = timestamp_ns();
  uint32_t turn = 0;
  while (!HandlerThread::instance().idle() && timestamp_ns() - start < limit_ns) spin_turn(turn++);
}

}  // namespace gfxgraph::hsa
