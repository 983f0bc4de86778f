// Work in flight that writes host-visible memory and whose completion the host does not know yet:
// the ranges that each piece writes, and what tells the host. Copies and memsets write their
// ranges, kernels anything in the allocations that they reach. Depends only on the events of the
// trace. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "format/box.h"
#include "format/stream_devices.h"
#include "format/trace.h"
#include "order/streams.h"

namespace gfxgraph::recorder {

struct Flight {
  format::AllocationId allocation = 0;
  uint64_t begin = 0;  // byte offsets
  uint64_t end = 0;
  // The host learned of its completion at a time that the recorder cannot observe exactly (a host
  // function): the host may have written the memory since.
  bool late = false;
  // Kernels may or may not write each byte. `named`: their arguments or memory hold an address of
  // the allocation; otherwise an earlier kernel received one, and may have stored it.
  bool kernel = false;
  bool named = false;
  format::StreamId stream = 0;  // set by issue()
  // A box with gaps between its rows: only the rows are written. row_bytes of 0: all of it.
  uint64_t row_bytes = 0;
  uint64_t pitch_bytes = 0;
  uint64_t rows = 0;  // of a plane
  uint64_t plane_bytes = 0;
  // It has written by the time of the comparison; set by the caller.
  bool done = false;

  bool writes(uint64_t offset) const noexcept;
  auto operator<=>(const Flight&) const = default;
};

// Of a copy or memset into a box of its allocation.
Flight box_flight(format::AllocationId allocation, uint64_t offset, const format::Box& box);
// What they write.
Flight flight_of(const format::Copy& copy);
Flight flight_of(const format::Memset& set);

bool named_kernel(std::span<const Flight> flights);

class Flights {
 public:
  bool empty() const noexcept { return out_.empty(); }
  bool any_kernel() const noexcept { return kernels_ != 0; }
  // Nothing is tracked: no event would change anything.
  bool idle() const noexcept { return out_.empty() && calls_.empty() && reads_.empty(); }
  void add(const format::Device& device);
  // Work that is no flight was given to the stream. follow() does this for its events.
  void works(format::StreamId stream) {
    if (!idle()) streams_.passed(stream);
  }
  // Call before the event of the work. `late`: the host's knowledge will be observed late. A
  // kernel's flight replaces those of the same allocation that it follows, unless work of another
  // stream may follow only those, by an event or as work of the null stream. Returns its number,
  // which is higher than all earlier ones.
  uint32_t issue(format::StreamId stream, Flight flight);
  // For the graph launch that follow() gets next: its own flights, which have been issued, start at
  // `first_own`, and its n-th host function runs after `told[n]` of them.
  void functions_follow(uint32_t first_own, std::vector<std::set<uint32_t>> told);
  // Call for every event of the trace, in order. Returns the flights that the host now knows to be
  // done. `issued`: issued() when the call began that the event is of; it has not waited for work
  // of other threads that came later.
  std::vector<Flight> follow(const format::Action& action, uint32_t issued = UINT32_MAX);
  // The flights to an allocation that overlap [begin, end).
  std::vector<Flight> over(format::AllocationId allocation, uint64_t begin, uint64_t end) const;
  // As the next work of the stream finds them: work that it follows is done.
  std::vector<Flight> over(format::AllocationId allocation, uint64_t begin, uint64_t end,
                           format::StreamId reader) const;
  void forget(format::AllocationId allocation);
  // The recorder's own read behind the work of the stream was issued. Returns its number, for
  // follows_read(), until forget_read().
  uint32_t issue_read(format::StreamId stream);
  // Whether the next work of the stream, or of the host, comes after the read.
  bool follows_read(format::StreamId stream, uint32_t read) const;
  bool host_follows_read(uint32_t read) const { return !reads_.contains(read); }
  void forget_read(uint32_t read);
  // Copies, memsets and kernels that were given the memory and do not precede the next work of the
  // stream.
  std::vector<Flight> beside(format::StreamId stream) const;
  std::vector<Flight> all() const;
  // Whether the next work of the stream follows the host function, or all of a graph launch, by the
  // first one's id.
  bool follows(format::StreamId stream, format::HostFunctionId first) const;
  // The kernels that work of the stream follows, or all of them, are done: observed by the
  // recorder, not by the host.
  std::vector<Flight> land_kernels(format::StreamId stream);
  std::vector<Flight> land_all_kernels() { return land_all_kernels(issued()); }
  // Those that were issued before issued() returned this number.
  std::vector<Flight> land_all_kernels(uint32_t issued);
  // Any thread.
  uint32_t issued() const noexcept { return next_.load(std::memory_order_relaxed); }
  // Another number after a flight was issued, or landed.
  uint64_t changes() const noexcept { return issued() + erased_; }

 private:
  using Set = std::set<uint32_t>;
  // Whole sets: work that has landed is in none.
  struct Sets {
    using Set = Flights::Set;
    void add(Set& set, const Set& other) const { set.insert(other.begin(), other.end()); }
    void reduce(Set&) const {}
  };
  Set front(format::StreamId stream) const { return streams_.front(stream); }
  std::vector<Flight> land(const Set& known, bool late);
  Set before(uint32_t issued, Set known) const;
  std::vector<Flight> land_work(format::StreamId stream, uint32_t issued);

  std::vector<Flight> land_kernels(const Set& among);
  void erase(uint32_t number);
  bool may_be_followed(uint32_t number, format::StreamId issuing) const;
  bool follows_only(uint32_t number, const Set& replacing) const;
  void drop_replaced();
  void call(format::StreamId stream, format::HostFunctionId first);
  std::vector<Flight> land_before(format::HostFunctionId function);
  bool is_call(uint32_t number) const;

  // Written with the lock. It can be assigned, because a new trace begins with new Flights.
  struct Counter : std::atomic<uint32_t> {
    Counter() : atomic(1) {}
    Counter(const Counter& other) : atomic(other.load()) {}
    Counter& operator=(const Counter& other) {
      store(other.load());
      return *this;
    }
    using atomic::operator=;
  };
  Counter next_;
  uint64_t erased_ = 0;
  size_t kernels_ = 0;  // in out_
  std::map<uint32_t, Flight> out_;
  order::Streams<Sets> streams_;
  Set captured_;                      // of out_, by an event at some time
  std::map<uint32_t, Set> replaced_;  // of out_, by which later ones
  // Host functions whose completion the host is not known to know, a graph's by the first one: the
  // work that they follow, and their own number, which is in no other map.
  struct Call {
    uint32_t number = 0;
    Set after;
    std::vector<Set> told;  // of the graph itself, by function
  };
  std::map<format::HostFunctionId, Call> calls_;
  Set reads_;  // whose completion the host does not know; in no other map than the tails
  uint32_t first_own_ = UINT32_MAX;  // for the next call()
  std::vector<Set> told_;
  format::StreamDevices devices_;
  bool several_ = false;  // devices
};

}  // namespace gfxgraph::recorder
