#include "hsa/signal.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "hsa/handlers.h"
#include "hsa/memory.h"
#include "hsa/queue.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

static_assert(sizeof(Signal) == sizeof(amd_signal_t) && sizeof(Signal) == 64);
static_assert(sizeof(std::atomic<int64_t>) == 8 && std::atomic<int64_t>::is_always_lock_free);

constexpr size_t kSlabBytes = 64 * 1024;
// Passed by s_sendmsg in M0; device code sends the message if it is not 0.
constexpr uint32_t kEventId = 1;

struct SignalPool {
  std::mutex mutex;
  std::vector<Signal*> free;
  uint64_t mailbox = 0;  // device code writes the event id here before it sends the message
};

SignalPool& pool() {
  static auto* const instance = new SignalPool();
  return *instance;
}

// Requires the pool's lock.
Result<void> grow(SignalPool& signals) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::byte* const slab,
                            allocate_system_memory(kSlabBytes, "signals of the agent"));
  auto* const first = reinterpret_cast<Signal*>(slab);
  size_t begin = 0;
  if (signals.mailbox == 0) {
    signals.mailbox = reinterpret_cast<uint64_t>(slab);
    begin = 1;
  }
  // Lowest address on top of the stack.
  for (size_t i = kSlabBytes / sizeof(Signal); i > begin; --i)
    signals.free.push_back(first + i - 1);
  return {};
}

Result<Signal*> take_signal(amd_signal_kind64_t kind) {
  SignalPool& signals = pool();
  const std::lock_guard lock(signals.mutex);
  if (signals.free.empty()) GFXGRAPH_TRY(grow(signals));
  Signal* const signal = signals.free.back();
  signals.free.pop_back();
  amd_signal_t& raw = signal->raw();
  // Keep the watch count: a previous signal in this memory may still be watched.
  raw.event_mailbox_ptr = kind == AMD_SIGNAL_KIND_USER ? signals.mailbox : 0;
  raw.event_id = kind == AMD_SIGNAL_KIND_USER ? kEventId : 0;
  raw.start_ts = 0;
  raw.end_ts = 0;
  raw.queue_ptr = nullptr;
  signal->value().store(0, std::memory_order_relaxed);
  signal->kind().store(kind, std::memory_order_release);
  return signal;
}

// Checks the conditions once.
WaitResult check(std::span<const SignalCondition> conditions) noexcept {
  for (size_t i = 0; i < conditions.size(); ++i) {
    const SignalCondition& c = conditions[i];
    if (c.signal == nullptr) continue;
    const int64_t value = c.signal->value().load(std::memory_order_seq_cst);
    if (condition_holds(c.condition, value, c.compare)) return {static_cast<int64_t>(i), value};
  }
  return {-1, conditions.empty() || conditions[0].signal == nullptr
                  ? 0
                  : conditions[0].signal->value().load(std::memory_order_relaxed)};
}

// No device will change a signal in a forked child: satisfies a condition so that HIP's exit code
// does not wait forever.
WaitResult satisfy_first(std::span<const SignalCondition> conditions) noexcept {
  for (size_t i = 0; i < conditions.size(); ++i) {
    const SignalCondition& c = conditions[i];
    if (c.signal == nullptr) continue;
    int64_t value = c.compare;
    if (c.condition == HSA_SIGNAL_CONDITION_NE || c.condition == HSA_SIGNAL_CONDITION_LT) --value;
    c.signal->value().store(value, std::memory_order_seq_cst);
    return {static_cast<int64_t>(i), value};
  }
  return {-1, 0};
}

class WatchAll {
 public:
  WatchAll(std::span<const SignalCondition> conditions, Watcher& watcher) noexcept
      : conditions_(conditions), watcher_(watcher) {
    try {
      for (const SignalCondition& c : conditions_) {
        if (c.signal != nullptr) watch(*c.signal, watcher_);
      }
    } catch (const std::bad_alloc&) {
      complete_ = false;
    }
  }
  ~WatchAll() {
    for (const SignalCondition& c : conditions_) {
      if (c.signal != nullptr) unwatch(*c.signal, watcher_);
    }
  }
  WatchAll(const WatchAll&) = delete;
  WatchAll& operator=(const WatchAll&) = delete;
  // False: the watcher is not notified of changes of some signals.
  bool complete() const { return complete_; }

 private:
  std::span<const SignalCondition> conditions_;
  Watcher& watcher_;
  bool complete_ = true;
};

}  // namespace

Signal* Signal::from(hsa_signal_t handle) noexcept {
  if (handle.handle == 0 || handle.handle % alignof(amd_signal_t) != 0) return nullptr;
  auto* const signal = reinterpret_cast<Signal*>(handle.handle);
  return signal->kind().load(std::memory_order_acquire) == AMD_SIGNAL_KIND_INVALID ? nullptr
                                                                                   : signal;
}

void Signal::ring() noexcept {
  auto* const queue = reinterpret_cast<Queue*>(raw_.queue_ptr);
  if (queue != nullptr) queue->ring();
}

void Signal::complete(uint64_t start_ns, uint64_t end_ns) noexcept {
  raw_.start_ts = start_ns;
  raw_.end_ts = end_ns;
  value().fetch_sub(1, std::memory_order_seq_cst);
  notify();
}

Result<Signal*> create_signal(int64_t initial_value) {
  GFXGRAPH_ASSIGN_OR_RETURN(Signal* const signal, take_signal(AMD_SIGNAL_KIND_USER));
  signal->value().store(initial_value, std::memory_order_seq_cst);
  return signal;
}

Result<Signal*> create_doorbell(Queue& queue) {
  GFXGRAPH_ASSIGN_OR_RETURN(Signal* const signal, take_signal(AMD_SIGNAL_KIND_DOORBELL));
  // HSA: a doorbell starts at -1, "no packet yet".
  signal->value().store(-1, std::memory_order_seq_cst);
  signal->raw().queue_ptr = reinterpret_cast<amd_queue_t*>(&queue);
  return signal;
}

void destroy_signal(Signal* signal) noexcept {
  if (signal == nullptr) return;
  signal->raw().queue_ptr = nullptr;
  if (signal->kind().exchange(AMD_SIGNAL_KIND_INVALID) == AMD_SIGNAL_KIND_INVALID) return;
  // Before the memory is reused for another signal.
  if (signal->watchers().load(std::memory_order_seq_cst) != 0) cancel_handlers(*signal);
  SignalPool& signals = pool();
  const std::lock_guard lock(signals.mutex);
  signals.free.push_back(signal);
}

bool condition_holds(hsa_signal_condition_t condition, int64_t value, int64_t compare) noexcept {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == compare;
    case HSA_SIGNAL_CONDITION_NE: return value != compare;
    case HSA_SIGNAL_CONDITION_LT: return value < compare;
    case HSA_SIGNAL_CONDITION_GTE: return value >= compare;
  }
  return false;
}

WaitResult wait_any(std::span<const SignalCondition> conditions, uint64_t timeout_ns,
                    bool active) noexcept {
  WaitResult result = check(conditions);
  if (result.index >= 0 || timeout_ns == 0) return result;
  if (Runtime::forked()) return satisfy_first(conditions);

  const uint64_t start = timestamp_ns();
  const uint64_t spin_ns = std::min<uint64_t>(timeout_ns, active ? 30'000 : 3'000);
  uint32_t turn = 0;
  do {
    spin_turn(turn++);
    result = check(conditions);
    if (result.index >= 0) return result;
  } while (timestamp_ns() - start < spin_ns);

  WaitPoint point;
  const WatchAll watching(conditions, point);
  // Polls as well, because device code may store to a signal without a message.
  uint64_t nap_ns = 1'000'000;
  const uint64_t longest_nap_ns = watching.complete() ? 64'000'000 : nap_ns;
  while (true) {
    const uint32_t ticket = point.ticket();
    result = check(conditions);
    if (result.index >= 0) return result;
    const uint64_t elapsed = timestamp_ns() - start;
    if (elapsed >= timeout_ns) return result;
    point.wait(ticket, std::chrono::nanoseconds(std::min(nap_ns, timeout_ns - elapsed)));
    nap_ns = std::min(nap_ns * 2, longest_nap_ns);
  }
}

}  // namespace gfxgraph::hsa
