// Where the program called HIP for what a finding names, as far as the trace knows.
#pragma once

#include <string>
#include <unordered_map>

#include "format/reader.h"

namespace gfxgraph::lanecheck {

class CallSites {
 public:
  // `trace` must outlive it, with its events.
  explicit CallSites(const format::Trace& trace);

  // The call that is this event: "load_model+0x1f4"; empty: unknown.
  std::string of_event(uint64_t sequence) const;
  // The call that made the allocation, with its number there: "load_model+0x1f4#2".
  std::string of_allocation(format::AllocationId id) const;

 private:
  const format::Trace& trace_;
  std::unordered_map<format::AllocationId, const format::AllocationBegin*> begins_;
};

}  // namespace gfxgraph::lanecheck
