#include "hsa/queue/signal.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "hsa/memory.h"
#include "hsa/queue/handlers.h"
#include "hsa/queue/host_calls.h"
#include "hsa/queue/queue.h"
#include "hsa/runtime.h"

namespace gfxgraph::hsa {
namespace {

static_assert(sizeof(Signal) == sizeof(amd_signal_t) && sizeof(Signal) == 64);
static_assert(sizeof(SignalRecord) == 24 && AMD_SIGNAL_KIND_INVALID == 0);
static_assert(sizeof(std::atomic<int64_t>) == 8 && std::atomic<int64_t>::is_always_lock_free);

// More than any program has at once; memory is used from the first write on.
constexpr uint64_t kMostSignals = 1u << 20;
constexpr uint64_t kTableBytes = kMostSignals * sizeof(amd_signal_t);
// Passed by s_sendmsg in M0; device code sends the message if it is not 0.
constexpr uint32_t kEventId = 1;
// Of the memory that device code may write before it sends the message: the event id, and a signal.
constexpr uint64_t kMailboxBytes = 4096;
constexpr uint64_t kStandInOffset = 1024;

struct SignalTable {
  std::mutex mutex;
  uint64_t mailbox = 0;
  uint32_t used = 0;        // signals that were ever in use
  uint32_t first_free = 0;  // number plus 1; 0: none
};

SignalTable& signal_table() {
  static auto* const instance = new SignalTable();
  return *instance;
}

// Set once; read by every call with a handle.
constinit std::atomic<uint64_t> table_address{0};
constinit std::atomic<SignalRecord*> table_records{nullptr};

// Requires the table's lock.
Result<void> create_table(SignalTable& table) {
  void* const records = mmap(nullptr, kMostSignals * sizeof(SignalRecord), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (records == MAP_FAILED) return fail(Status::kOutOfMemory, "records of the agent's signals");
  const DeviceAccess access = host_calls_denied() ? DeviceAccess::kRead : DeviceAccess::kWrite;
  auto signals = allocate_system_memory(kTableBytes, "signals of the agent", access);
  auto mailbox =
      signals ? allocate_system_memory(kMailboxBytes, "mailbox of signals", DeviceAccess::kWrite)
              : signals;
  if (!mailbox) {
    if (signals) release_agent_memory(*signals);
    munmap(records, kMostSignals * sizeof(SignalRecord));
    return tl::unexpected<Error>(mailbox.error());
  }
  table.mailbox = reinterpret_cast<uint64_t>(*mailbox);
  auto* const stand_in = reinterpret_cast<amd_signal_t*>(*mailbox + kStandInOffset);
  stand_in->kind = AMD_SIGNAL_KIND_USER;
  stand_in->event_mailbox_ptr = table.mailbox;
  stand_in->event_id = kEventId;
  table_records.store(static_cast<SignalRecord*>(records), std::memory_order_release);
  table_address.store(reinterpret_cast<uint64_t>(*signals), std::memory_order_release);
  return {};
}

Result<Signal*> take_signal(amd_signal_kind64_t kind) {
  SignalTable& table = signal_table();
  const std::lock_guard lock(table.mutex);
  if (table.mailbox == 0) GFXGRAPH_TRY(create_table(table));
  uint32_t number = table.used;
  if (table.first_free != 0) {
    number = table.first_free - 1;
    table.first_free = table_records.load(std::memory_order_relaxed)[number].next_free;
  } else if (number == kMostSignals) {
    return fail(Status::kOutOfMemory,
                fmt::format("{} signals are in use, which is the agent's limit", kMostSignals));
  } else {
    ++table.used;
  }
  auto* const signal =
      reinterpret_cast<Signal*>(table_address.load(std::memory_order_relaxed)) + number;
  amd_signal_t& raw = signal->raw();
  // Keep the watch count: a previous signal in this memory may still be watched.
  raw.kind = kind;
  raw.event_mailbox_ptr = kind == AMD_SIGNAL_KIND_USER ? table.mailbox : 0;
  raw.event_id = kind == AMD_SIGNAL_KIND_USER ? kEventId : 0;
  raw.start_ts = 0;
  raw.end_ts = 0;
  raw.queue_ptr = nullptr;
  signal->value().store(0, std::memory_order_relaxed);
  signal->record().kind.store(kind, std::memory_order_release);
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
  const uint64_t table = table_address.load(std::memory_order_acquire);
  const uint64_t offset = handle.handle - table;
  if (table == 0 || offset >= kTableBytes || offset % sizeof(amd_signal_t) != 0) return nullptr;
  auto* const signal = reinterpret_cast<Signal*>(handle.handle);
  return signal->record().kind.load(std::memory_order_acquire) == AMD_SIGNAL_KIND_INVALID ? nullptr
                                                                                          : signal;
}

SignalRecord& Signal::record() noexcept {
  const uint64_t offset =
      reinterpret_cast<uint64_t>(this) - table_address.load(std::memory_order_relaxed);
  return table_records.load(std::memory_order_relaxed)[offset / sizeof(amd_signal_t)];
}

void Signal::ring() noexcept {
  Queue* const queue = record().queue.load(std::memory_order_acquire);
  if (queue != nullptr) queue->ring();
}

uint64_t stand_in_signal() noexcept {
  SignalTable& table = signal_table();
  const std::lock_guard lock(table.mutex);
  return table.mailbox == 0 ? 0 : table.mailbox + kStandInOffset;
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
  signal->record().queue.store(&queue, std::memory_order_release);
  return signal;
}

void destroy_signal(Signal* signal) noexcept {
  if (signal == nullptr) return;
  SignalRecord& record = signal->record();
  record.queue.store(nullptr, std::memory_order_release);
  if (record.kind.exchange(AMD_SIGNAL_KIND_INVALID) == AMD_SIGNAL_KIND_INVALID) return;
  // Before the memory is reused for another signal.
  if (record.watchers.load(std::memory_order_seq_cst) != 0) cancel_handlers(*signal);
  signal->raw().kind = AMD_SIGNAL_KIND_INVALID;
  SignalTable& table = signal_table();
  const std::lock_guard lock(table.mutex);
  const auto number = static_cast<uint32_t>(
      signal - reinterpret_cast<Signal*>(table_address.load(std::memory_order_relaxed)));
  record.next_free = table.first_free;
  table.first_free = number + 1;
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
