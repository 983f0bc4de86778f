// What waits to be written: launches in the lanes of their threads, everything else in one list, in
// the order of the tickets that they drew. Two locks of the recorder guard it: `mutex` who adds,
// and the drain lock, which is taken first, who writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "format/writer.h"
#include "recorder/queue/launch_lane.h"
#include "recorder/queue/tick_clock.h"

namespace gfxgraph::recorder {

// Graphs stand among the events: their nodes refer to allocations that began before them.
// A list of events is what a host function will have written.
using Pending = std::variant<std::unique_ptr<format::Event>, std::unique_ptr<format::Graph>,
                             std::unique_ptr<std::vector<format::Event>>>;

class EventQueue {
 public:
  // Events, or launches of one lane, after which their thread writes them itself.
  static constexpr size_t kMost = 8192;
  static constexpr size_t kMostOfLane = LaunchBatch::kMost;
  // After as many more events, the flusher is woken.
  static constexpr size_t kSome = 256;
  // At as many launches of one lane: seldom, for who wakes it pays for that.
  static constexpr size_t kSomeOfLane = kMostOfLane / 2;

  LaunchLanes& lanes() noexcept { return lanes_; }
  // Any thread. Tickets rise; the first is 1.
  uint64_t draw() noexcept { return tickets_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  uint64_t last_drawn() const noexcept { return tickets_.load(std::memory_order_acquire); }

  // Before the recording begins, at this time (monotonic_ns()): that of launches counts from it.
  void reserve(uint64_t start_ns);
  uint64_t ticks() const noexcept { return clock_.ticks(); }
  // With mutex. The number of items that wait in the list.
  size_t add(uint64_t ticket, Pending item);
  // Any thread, without a lock: not exact.
  bool full() const noexcept { return count_.load(std::memory_order_relaxed) >= kMost; }
  // With the lane's lock: one more, with the bytes that the lane has at hand. The rest is the
  // caller's to fill in, before it lets go of the lock.
  static PendingLaunch& add(LaunchLane& lane);

  // With both locks. Items that stand there are not written, nor what comes after them.
  void unblock() { blocked_.clear(); }
  void block(const void* item) { blocked_.insert(item); }
  bool blocked(const void* item) const { return blocked_.contains(item); }
  // With both locks: all that has been added is to be written next. False: something that was taken
  // before is still there.
  bool take();
  // With the drain lock: writes what was taken, up to what is blocked. What the writer would not
  // take is named in `refused`; it marks the trace incomplete for it. True: nothing is left.
  Result<bool> write(format::Writer& writer, std::vector<std::string>& refused);

 private:
  struct Item {
    uint64_t ticket = 0;
    Pending event;
  };
  // An Item, or a launch of a lane.
  struct Taken {
    uint64_t ticket = 0;
    Item* item = nullptr;
    const PendingLaunch* launch = nullptr;
    const LaunchLane* lane = nullptr;
  };
  Result<void> write(format::Writer& writer, Taken& taken);
  void forget_taken();

  LaunchLanes lanes_;
  TickClock clock_;
  uint64_t start_ns_ = 0;
  alignas(128) std::atomic<uint64_t> tickets_{0};  // each launch writes it
  alignas(128) std::vector<Item> pending_;
  std::atomic<size_t> count_{0};
  std::vector<Item> draining_;
  std::vector<Taken> taken_;  // of draining_ and the lanes, by ticket
  size_t written_ = 0;        // of taken_
  std::unordered_set<const void*> blocked_;
};

}  // namespace gfxgraph::recorder
