#include "hsa/queue/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "hsa/queue/signal.h"

namespace gfxgraph::hsa {
namespace {

struct Shard {
  std::mutex mutex;
  std::unordered_map<const Signal*, std::vector<Watcher*>> watchers;
};

constexpr size_t kShards = 32;

// Never destroyed: HIP waits on signals in its static destructors. In static storage: wake and
// unwatch must not allocate.
std::array<Shard, kShards>& shards() {
  using List = std::array<Shard, kShards>;
  alignas(List) static std::byte storage[sizeof(List)];
  static auto* const list = new (storage) List();
  return *list;
}

Shard& shard_of(const Signal& signal) {
  return shards()[reinterpret_cast<uintptr_t>(&signal) / sizeof(amd_signal_t) % kShards];
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG,
                 value, timeout, nullptr, 0);
}

}  // namespace

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::nanoseconds timeout) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t ns = std::max<int64_t>(timeout.count(), 0);
  const timespec time = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  futex(word, FUTEX_WAIT, expected, &time);
}

void futex_wake_all(std::atomic<uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

void spin_turn(uint32_t turn) noexcept {
  constexpr uint32_t kPureTurns = 8;
  for (int i = 0; i < 8; ++i) __builtin_ia32_pause();
  if (turn >= kPureTurns) sched_yield();
}

uint64_t timestamp_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

void WaitPoint::wake() noexcept {
  word_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(word_);
}

void watch(Signal& signal, Watcher& watcher) {
  Shard& shard = shard_of(signal);
  const std::lock_guard lock(shard.mutex);
  shard.watchers[&signal].push_back(&watcher);
  signal.watchers().fetch_add(1, std::memory_order_seq_cst);
}

void unwatch(Signal& signal, Watcher& watcher) noexcept {
  Shard& shard = shard_of(signal);
  const std::lock_guard lock(shard.mutex);
  const auto entry = shard.watchers.find(&signal);
  if (entry == shard.watchers.end()) return;
  std::vector<Watcher*>& list = entry->second;
  const auto place = std::find(list.begin(), list.end(), &watcher);
  if (place == list.end()) return;
  list.erase(place);
  signal.watchers().fetch_sub(1, std::memory_order_seq_cst);
  if (list.empty()) shard.watchers.erase(entry);
}

void notify_watchers(Signal& signal) noexcept {
  Shard& shard = shard_of(signal);
  const std::lock_guard lock(shard.mutex);
  const auto entry = shard.watchers.find(&signal);
  if (entry == shard.watchers.end()) return;
  for (Watcher* watcher : entry->second) watcher->signalled();
}

void notify_all_watchers() noexcept {
  for (Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [signal, list] : shard.watchers) {
      for (Watcher* watcher : list) watcher->signalled();
    }
  }
}

namespace {
constinit std::atomic<uint32_t> memory_waits{0};
}  // namespace

MemoryWait::MemoryWait() noexcept { memory_waits.fetch_add(1, std::memory_order_seq_cst); }
MemoryWait::~MemoryWait() { memory_waits.fetch_sub(1, std::memory_order_seq_cst); }

void notify_memory_waits() noexcept {
  // Runs after the stores: either this sees the count, or the counting thread sees the stores. Uses
  // no fence, because the thread sanitizer does not support fences.
  if (memory_waits.fetch_add(0, std::memory_order_seq_cst) != 0) notify_all_watchers();
}

void reset_watch_list_after_fork() noexcept {
  // Another thread of the parent may have held a lock. The child never uses the list itself.
  for (Shard& shard : shards()) new (&shard.mutex) std::mutex();
}

}  // namespace gfxgraph::hsa
