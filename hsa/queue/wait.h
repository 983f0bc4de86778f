// Lets threads of the agent sleep until a signal changes.
//
// A Watcher is notified when a signal that it watches may have changed; a WaitPoint is a watcher
// that a thread sleeps on. A count in the signal (Signal::watchers()) keeps signals without
// watchers cheap.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace gfxgraph::hsa {

class Signal;

// Sleeps until `word` differs from `expected` or `timeout` has passed. May wake spuriously.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::nanoseconds timeout);
void futex_wake_all(std::atomic<uint32_t>& word);

// One turn of a spin loop: delays a few hundred nanoseconds. `turn` counts from 0; later turns
// yield the core, because on a busy machine the awaited thread may be queued on the same core.
void spin_turn(uint32_t turn) noexcept;

// Monotonic clock in nanoseconds: the agent's and the system's timestamp domain.
uint64_t timestamp_ns() noexcept;
constexpr uint64_t kTimestampHz = 1'000'000'000;

class Watcher {
 public:
  virtual ~Watcher() = default;
  // A watched signal may have changed. Called on any thread with a lock of the watch list held:
  // must not call the watch list and must not block.
  virtual void signalled() noexcept = 0;
};

class WaitPoint final : public Watcher {
 public:
  // Take a ticket, check the condition, then wait(ticket): this loses no wake-up.
  uint32_t ticket() const noexcept { return word_.load(std::memory_order_seq_cst); }
  void wait(uint32_t ticket, std::chrono::nanoseconds timeout) {
    futex_wait(word_, ticket, timeout);
  }
  void wake() noexcept;
  void signalled() noexcept override { wake(); }

 private:
  std::atomic<uint32_t> word_{0};
};

// The watch list. All functions are thread-safe. A watcher may watch one signal several times.
void watch(Signal& signal, Watcher& watcher);
// `watcher` is not called for this signal after unwatch() returns.
void unwatch(Signal& signal, Watcher& watcher) noexcept;
// Notifies the watchers of a signal. Use Signal::notify(), which skips this if there are none.
void notify_watchers(Signal& signal) noexcept;
// Notifies every watcher, after the device itself wrote signals (s_sendmsg).
void notify_all_watchers() noexcept;
// Exists while a thread waits for a value in memory, which no signal announces (barrier-value
// packets): notify_memory_waits(), called when the device or a copy may have written, then notifies
// every watcher.
class MemoryWait {
 public:
  MemoryWait() noexcept;
  ~MemoryWait();
  MemoryWait(const MemoryWait&) = delete;
  MemoryWait& operator=(const MemoryWait&) = delete;
};
void notify_memory_waits() noexcept;
// Unlocks the watch list in a forked child, where only the forking thread exists.
void reset_watch_list_after_fork() noexcept;

}  // namespace gfxgraph::hsa
