// What threads hand over at each launch, without a lock that another thread holds while it launches
// too: each thread has a lane of its own. A ticket that is drawn under the lane's lock, after the
// call has returned, gives the order among all lanes and the queue of other events: who learned of
// a launch, by whatever way, draws a later one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/trace.h"
#include "recorder/launch_shape.h"
#include "recorder/lock_order.h"
#include "recorder/queue/lane_lock.h"

namespace gfxgraph::recorder {

// A launch as its call leaves it: kernarg bytes and relocations stand in the lane's buffer.
struct PendingLaunch {
  PendingLaunch() noexcept {}  // unlike a default one it does not clear all of it first
  uint64_t ticket = 0;
  format::KernelId kernel = 0;
  format::StreamId stream = 0;
  uint32_t thread = 0;
  format::SiteId site = 0;
  uint64_t ticks = 0;  // TickClock
  LaunchShape shape;
  uint64_t offset_bytes = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t relocation_count = 0;
};

struct LaunchBatch {
  static constexpr size_t kMost = 2048;
  static constexpr size_t kUsualBytes = 160;  // of one; more make the buffer grow
  void reserve() {
    launches.reserve(kMost);
    bytes.reserve(kMost * kUsualBytes);
  }
  std::vector<PendingLaunch> launches;  // by ticket
  std::vector<std::byte> bytes;
  void clear() {
    launches.clear();
    bytes.clear();
  }
};

// Makes `event` the launch; memory that its vectors have is used again.
void put_launch(const PendingLaunch& pending, std::span<const std::byte> all_bytes,
                uint64_t time_ns, format::Event& event);

// Own cache lines: nothing of two threads stands in one.
struct alignas(128) LaunchLane {
  LaneLock lock;
  LaunchBatch pending;  // with lock
  // What the thread's launch at hand passes; its own, without the lock.
  std::vector<uint8_t> kernarg;
  std::vector<format::Relocation> relocations;
  // The ticket and the thread of its last launch into a stream that the null stream waits for.
  std::atomic<uint64_t> last_blocking{0};

  LaunchBatch draining;  // with the order's lock
  LaunchLane* next = nullptr;
  std::atomic<bool> taken{true};  // by a thread that lives
};

// A ticket and who drew it, in one word: the last bits of the thread's number.
inline constexpr unsigned kThreadBits = 8;
constexpr uint64_t stamped(uint64_t ticket, uint32_t thread) noexcept {
  return ticket << kThreadBits | (thread & ((1u << kThreadBits) - 1));
}
constexpr uint64_t ticket_of(uint64_t stamp) noexcept { return stamp >> kThreadBits; }
constexpr bool same_thread(uint64_t a, uint64_t b) noexcept {
  return ((a ^ b) & ((1u << kThreadBits) - 1)) == 0;
}

// The lanes of one recorder. Threads come and go, lanes stay and are taken over.
class LaunchLanes {
 public:
  LaunchLanes() = default;
  LaunchLanes(const LaunchLanes&) = delete;
  LaunchLanes& operator=(const LaunchLanes&) = delete;

  // The calling thread's. nullptr: the thread is ending, or there is no memory. Takes a lock at its
  // first call only.
  LaunchLane* mine() noexcept;
  // single(), and the one lane is that of the calling thread.
  bool only_mine() const noexcept;
  template <typename F>
  void each(F&& function) const {
    for (LaunchLane* lane = first_.load(std::memory_order_acquire); lane != nullptr;
         lane = lane->next) {
      function(*lane);
    }
  }

  // Whether only one thread gives work to the device: there is one lane, and no thread without a
  // lane. Then that thread, with its lock, needs no atomic operation for data of launches.
  bool single() const noexcept { return !several_.load(std::memory_order_relaxed); }
  // With the recorder's mutex_, before a thread without a lane gives work to the device.
  void not_single();

  // While it lives no launch looks at the model or is handed over. With the recorder's mutex_;
  // nests.
  class Alone {
   public:
    explicit Alone(LaunchLanes& lanes) : lanes_(lanes) { lanes_.stop(); }
    ~Alone() { lanes_.go(); }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    LaunchLanes& lanes_;
  };

 private:
  LaunchLane* take() noexcept;
  void stop();
  void go();
  void want_all();
  void let_go_of_all();
  static uint64_t next_number() noexcept;  // never given twice, unlike an address

  const uint64_t number_ = next_number();
  Mutex<LockRank::kLanes> mutex_;  // held: there is no new lane
  std::vector<std::shared_ptr<LaunchLane>> all_;
  std::atomic<LaunchLane*> first_{nullptr};
  std::atomic<bool> several_{false};  // changes while nobody is inside of a lane
  unsigned depth_ = 0;
};

}  // namespace gfxgraph::recorder
