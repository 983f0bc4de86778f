// What waits to be written: launches in the lanes of their threads, everything else in one list, in
// the order of the tickets that they drew. Two locks of the recorder guard it: `mutex` who adds,
// and the order's lock, which is taken first, who writes.
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
#include "format/write/writer.h"
#include "recorder/queue/capture_filter.h"
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
  // Any thread, with a lock under which take() does not run. Tickets rise: who has learned of one,
  // by whatever way, draws a higher one. Where the processors' counters tell such an order, they
  // give the tickets, so that threads write nothing together; two of them may draw the same one
  // then. Below 2^56, for years.
  uint64_t draw() noexcept {
    if (clock_.counts()) [[likely]]
      return counted();
    return tickets_.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  // Any thread; no lock. Not less than those of which it has learned, and less than those that are
  // drawn by who learns of what this thread does next.
  uint64_t last_drawn() const noexcept {
    if (clock_.counts()) [[likely]]
      return counted();
    return tickets_.load(std::memory_order_acquire);
  }

  // Before the recording begins, at this time (monotonic_ns()): that of launches counts from it.
  void reserve(uint64_t start_ns);
  // When a ticket that was just drawn was drawn.
  uint64_t ticks_of(uint64_t ticket) const noexcept {
    return clock_.counts() ? (ticket << kStepBits) + clock_.began() : clock_.ticks();
  }
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
  // With the order's lock: writes what was taken, up to what is blocked. What the writer would not
  // take is named in `refused`; it marks the trace incomplete for it. True: nothing is left.
  Result<bool> write(format::Writer& writer, std::vector<std::string>& refused);
  // What it does not keep is not written.
  CaptureFilter& filter() noexcept { return filter_; }

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
  Result<void> write(format::Writer& writer, format::Event&& event);
  void merge_taken();
  void forget_taken();
  // In steps that are shorter than it takes to read a counter.
  static constexpr unsigned kStepBits = 2;
  uint64_t counted() const noexcept {
    return (TickClock::ordered_ticks() - clock_.began()) >> kStepBits;
  }

  LaunchLanes lanes_;
  TickClock clock_;
  uint64_t start_ns_ = 0;
  alignas(128) std::atomic<uint64_t> tickets_{0};  // if it does not, each launch writes it
  alignas(128) std::vector<Item> pending_;
  std::atomic<size_t> count_{0};
  std::vector<Item> draining_;
  std::vector<Taken> taken_;  // of draining_ and the lanes, by ticket
  size_t written_ = 0;        // of taken_
  format::Event launch_;      // that is written; its memory serves the next one
  std::unordered_set<const void*> blocked_;
  CaptureFilter filter_;
};

}  // namespace gfxgraph::recorder
