#include "hsa/queue/handlers.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hsa/queue/wait.h"
#include "hsa/queue/watchdog.h"

namespace gfxgraph::hsa {
namespace {

constexpr uint64_t kDestroyLimitNs = 1'000'000'000;
constexpr uint64_t kShutDownLimitNs = 10'000'000'000;

class HandlerThread;

// One registered function. Owned by the thread's map until it is detached; in the ready list at
// most once.
class Handler final : public Watcher {
 public:
  Handler(HandlerThread& thread, SignalCondition when, hsa_amd_signal_handler function, void* arg)
      : thread_(thread), when_(when), function_(function), arg_(arg) {}
  void signalled() noexcept override;
  // Called by the thread; returns false if the handler is finished and must be removed.
  bool look();
  Signal& signal() { return *when_.signal; }

 private:
  friend class HandlerThread;
  HandlerThread& thread_;
  SignalCondition when_;
  hsa_amd_signal_handler function_;
  void* arg_;
  std::atomic<bool> queued_{false};
  bool cancelled_ = false;  // never called again; guarded by the thread's mutex
};

class HandlerThread {
 public:
  static HandlerThread& instance() {
    static auto* const thread = [] {
      auto* const made = new HandlerThread();
      made_.store(made, std::memory_order_release);
      return made;
    }();
    return *thread;
  }
  // nullptr: no handler was ever added.
  static HandlerThread* made() noexcept { return made_.load(std::memory_order_acquire); }

  void add(std::unique_ptr<Handler> handler) {
    // Queued from the start: until it is in both lists, a notification cannot run and delete it.
    handler->queued_.store(true, std::memory_order_seq_cst);
    watch(handler->signal(), *handler);
    try {
      const std::lock_guard lock(mutex_);
      if (!started_) {
        std::thread([this] {
          thread_id_.store(std::this_thread::get_id());
          loop();
        }).detach();
        started_ = true;
      }
      ready_.push_back(handler.get());  // the condition may hold already
      try {
        handlers_.emplace(&handler->signal(), handler.get());
      } catch (...) {
        ready_.pop_back();
        throw;
      }
    } catch (...) {
      unwatch(handler->signal(), *handler);
      throw;
    }
    (void)handler.release();
    point_.wake();
  }

  // Drops the handlers of `signal`, or all with null. Waits up to `limit_ns` for one that is
  // running.
  void cancel(const Signal* signal, uint64_t limit_ns) noexcept {
    Handler* cancelled = nullptr;
    bool running = false;
    uint32_t turn = 0;
    do {
      {
        const std::lock_guard lock(mutex_);
        if (signal == nullptr) ready_.clear();  // keeps detach() from searching it each time
        cancelled = detach_one(signal);
        running = running_ != nullptr && (signal == nullptr || &running_->signal() == signal);
        if (running) running_->cancelled_ = true;
        turn = turns_.load(std::memory_order_relaxed);
      }
      if (cancelled != nullptr) end(cancelled);
    } while (cancelled != nullptr);
    if (running) wait_for_turns(turn, 1, limit_ns);
  }

  // Waits until all due handlers have been called or one takes longer than `limit_ns`. While that
  // handler runs, later calls return immediately.
  void settle(uint64_t limit_ns) noexcept {
    uint32_t turn = 0;
    uint32_t due = 0;
    {
      const std::lock_guard lock(mutex_);
      turn = turns_.load(std::memory_order_relaxed);
      if (running_ != nullptr && turn == stuck_turn_) return;
      queue_all_locked();
      due = static_cast<uint32_t>(ready_.size()) + (running_ != nullptr ? 1 : 0);
    }
    if (due == 0) return;
    point_.wake();
    if (wait_for_turns(turn, due, limit_ns)) return;
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr) stuck_turn_ = turns_.load(std::memory_order_relaxed);
  }

  bool idle() noexcept {
    const std::lock_guard lock(mutex_);
    return ready_.empty() && running_ == nullptr;
  }

  void push(Handler* handler) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (handler->cancelled_) return;
      ready_.push_back(handler);
    }
    point_.wake();
  }

 private:
  // Device code may change a signal without a message: the thread polls all signals at this
  // interval.
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
      const bool keep = handler->look();
      if (!finish_turn(handler, keep)) end(handler);
    }
  }

  std::chrono::nanoseconds idle_time() {
    const std::lock_guard lock(mutex_);
    return handlers_.empty() ? std::chrono::nanoseconds(std::chrono::hours(1)) : kSlowLook;
  }

  Handler* pop() {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) return nullptr;
    running_ = ready_.front();
    ready_.pop_front();
    return running_;
  }

  // Returns false if the handler is detached.
  bool finish_turn(Handler* handler, bool keep) {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
    turns_.fetch_add(1, std::memory_order_release);
    if (keep && !handler->cancelled_) return true;
    const auto [first, last] = handlers_.equal_range(&handler->signal());
    for (auto it = first; it != last; ++it) {
      if (it->second != handler) continue;
      detach(it);
      break;
    }
    return false;
  }

  using Handlers = std::unordered_multimap<const Signal*, Handler*>;

  // Requires the lock. Nothing queues a detached handler, so end() may delete it without the lock.
  void detach(Handlers::iterator place) {
    place->second->cancelled_ = true;
    std::erase(ready_, place->second);
    handlers_.erase(place);
  }

  // Requires the lock. Detaches a handler of `signal` (null: of any signal) that is not running;
  // returns nullptr if there is none.
  Handler* detach_one(const Signal* signal) {
    const auto [first, last] = signal == nullptr ? std::pair(handlers_.begin(), handlers_.end())
                                                 : handlers_.equal_range(signal);
    for (auto it = first; it != last; ++it) {
      Handler* const handler = it->second;
      if (handler == running_) continue;
      detach(it);
      return handler;
    }
    return nullptr;
  }

  // Deletes a detached handler. The caller must not hold the lock: the watch list holds its own
  // lock when it calls push().
  static void end(Handler* handler) noexcept {
    unwatch(handler->signal(), *handler);
    delete handler;
  }

  // Waits until `count` handlers have finished since turn `since`, or none is left. False if one
  // takes longer than `limit_ns`. Returns immediately on the handlers' own thread.
  bool wait_for_turns(uint32_t since, uint32_t count, uint64_t limit_ns) noexcept {
    if (std::this_thread::get_id() == thread_id_.load()) return true;
    uint64_t start = timestamp_ns();
    uint32_t last = since;
    uint32_t spins = 0;
    while (true) {
      const uint32_t turn = turns_.load(std::memory_order_acquire);
      if (turn - since >= count || idle()) return true;
      const uint64_t now = timestamp_ns();
      if (turn != last) {
        last = turn;
        start = now;
        spins = 0;
      }
      if (now - start >= limit_ns) return false;
      spin_turn(spins++);
    }
  }

  void queue_all() noexcept {
    const std::lock_guard lock(mutex_);
    queue_all_locked();
  }

  void queue_all_locked() noexcept {
    for (const auto& [signal, handler] : handlers_) {
      if (handler->cancelled_ || handler->queued_.exchange(true)) continue;
      try {
        ready_.push_back(handler);
      } catch (const std::bad_alloc&) {  // until the next poll
        handler->queued_.store(false);
        return;
      }
    }
  }

  inline static std::atomic<HandlerThread*> made_{nullptr};

  std::mutex mutex_;
  bool started_ = false;
  std::atomic<std::thread::id> thread_id_{};
  Handler* running_ = nullptr;        // taken from the ready list and not finished
  std::atomic<uint32_t> turns_{0};    // handlers taken from the list that have finished
  uint32_t stuck_turn_ = UINT32_MAX;  // value of turns_ when settle() gave up
  Handlers handlers_;
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
  signalled();  // rearmed: the condition may still hold
  return true;
}

}  // namespace

void add_handler(Signal& signal, hsa_signal_condition_t condition, int64_t compare,
                 hsa_amd_signal_handler handler, void* arg) {
  HandlerThread& thread = HandlerThread::instance();
  thread.add(std::make_unique<Handler>(thread, SignalCondition{&signal, condition, compare},
                                       handler, arg));
}

void settle_handlers() noexcept {
  HandlerThread* const thread = HandlerThread::made();
  if (thread != nullptr) thread->settle(kDestroyLimitNs);
}

void cancel_handlers(const Signal& signal) noexcept {
  HandlerThread* const thread = HandlerThread::made();
  if (thread != nullptr) thread->cancel(&signal, kDestroyLimitNs);
}

void end_handlers() noexcept {
  HandlerThread* const thread = HandlerThread::made();
  if (thread != nullptr) thread->cancel(nullptr, kShutDownLimitNs);
}

void drain_handlers(uint64_t limit_ns) {
  const uint64_t start = timestamp_ns();
  uint32_t turn = 0;
  while (!HandlerThread::instance().idle() && timestamp_ns() - start < limit_ns) spin_turn(turn++);
}

}  // namespace gfxgraph::hsa
