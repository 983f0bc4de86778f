// The order that HIP gives to the work of a trace: which earlier work each piece of work follows,
// and what the host knows to have ended. The rules of streams and events are those of streams.h;
// after the host learned that work has ended (format::Synchronize, a copy that blocks), all that is
// issued later follows that work. A kernel that reaches memory which the host can poll may have
// told it anything, and so does a value that is stored there: later work follows it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/reachability.h"
#include "format/trace.h"
#include "order/streams.h"

namespace gfxgraph::order {

// Numbers of pieces of work, from 0 in the order of issue, ascending, without those that others of
// the set follow.
using Set = std::vector<uint32_t>;

// Not thread-safe; concurrent calls of const methods are.
class StreamOrder {
 public:
  StreamOrder() = default;
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  void add(format::StreamId stream, const Stream& facts) { streams_.add(stream, facts); }

  // What work that is issued to the stream now follows.
  Set front(format::StreamId stream) const { return streams_.front(stream, host_); }
  // The next piece of work, and what it follows, reduced.
  struct Issued {
    uint32_t number = 0;
    Set follows;
    size_t unreduced = 0;  // as many as that were before
  };
  Issued issue(format::StreamId stream);

  // The work of a graph launch: `begin`, then each node in an order in which they follow others,
  // then `end`. One at a time.
  void begin_graph(format::StreamId stream, size_t nodes);
  // `follows`: earlier nodes. A node that is work:
  Issued issue_node(std::span<const uint32_t> follows);
  // A host function, or an empty node. Returns what is done when it runs.
  const Set& pass_node(std::span<const uint32_t> follows);
  void end_graph();

  void record(format::EventId event, format::StreamId stream) { streams_.record(event, stream); }
  void wait(format::StreamId stream, format::EventId event) { streams_.wait(stream, event); }
  // `id`: by which synchronize() names it; 0: by none. Of a node: ran().
  void host_function(format::StreamId stream, format::HostFunctionId id);
  void ran(format::HostFunctionId id, Set done) { ran_[id] = std::move(done); }
  void synchronize(format::SynchronizeKind kind, uint32_t object);
  // The host waits for all work of the device, or of all devices.
  void wait_device(format::DeviceNumber device);
  void wait_devices();
  // The host may know that this work, and what it follows, has ended.
  void tell_host(uint32_t work);

  // Whether the host knows that it has ended.
  bool host_knows(uint32_t work) const;
  // Whether `later` is `earlier` or follows it.
  bool follows(uint32_t later, uint32_t earlier) const { return reach_.reaches(earlier, later); }
  // Work in as many chains; 1: all is in order. At most Reachability::kMaxLanes.
  size_t lanes() const { return reach_.lanes(); }

 private:
  struct Reduced {
    using Set = order::Set;
    const Reachability* reach;
    void add(Set& set, const Set& other) const {
      set.insert(set.end(), other.begin(), other.end());
    }
    void reduce(Set& set) const { reach->minimise(set); }
  };
  void unite(Set& set, const Set& other) const;
  Issued issue_after(Set follows);
  Set node_follows(std::span<const uint32_t> follows);

  Reachability reach_;
  Streams<Reduced> streams_{Reduced{&reach_}};
  uint32_t issued_ = 0;
  Set host_;                                             // what the host knows to have ended
  std::unordered_map<format::HostFunctionId, Set> ran_;  // what was done when it ran

  struct Graph {
    format::StreamId stream = 0;
    Set before;
    std::vector<Set> after;  // by node: what its followers wait for
    std::vector<bool> followed;
  };
  Graph graph_;
};

}  // namespace gfxgraph::order
