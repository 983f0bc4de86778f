// Copies and memsets to memory that the host sees, of which the host does not yet know that they
// are done: where each writes, and what tells the host. Knows nothing but the events of the trace.
// Not thread-safe; the recorder's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::recorder {

struct Flight {
  format::AllocationId allocation = 0;
  uint64_t begin = 0;  // byte offsets
  uint64_t end = 0;
  // The host learned of it in a moment that the recorder cannot see exactly (a host function): it
  // may have written the memory since.
  bool late = false;
};

class Flights {
 public:
  bool empty() const noexcept { return out_.empty(); }
  // Before the event that does it. `late`: whatever tells the host will be seen late.
  void issue(format::StreamId stream, Flight flight);
  // Every event of the trace, in order. Gives the flights that the host knows to be done by it.
  std::vector<Flight> follow(const format::Action& action);
  // The flights to an allocation that overlap [begin, end).
  std::vector<Flight> over(format::AllocationId allocation, uint64_t begin, uint64_t end) const;
  void forget(format::AllocationId allocation);

 private:
  using Set = std::set<uint32_t>;
  Set front(format::StreamId stream) const;
  std::vector<Flight> land(const Set& known, bool late);

  uint32_t next_ = 1;
  std::map<uint32_t, Flight> out_;
  std::map<format::StreamId, Set> tails_;  // what later work of the stream follows
  std::map<format::EventId, Set> events_;
  std::map<format::HostFunctionId, Set> runs_;  // a graph's by the first one
  std::set<format::StreamId> unblocking_;       // streams that the null stream does not wait for
};

}  // namespace gfxgraph::recorder
