// Names the program's HIP calls behind a finding, as far as the trace has them.
#pragma once

#include <string>
#include <unordered_map>

#include "format/read/reader.h"

namespace gfxgraph::check {

class CallSites {
 public:
  // `trace` must outlive this, with its events loaded.
  explicit CallSites(const format::Trace& trace);

  // The call of this event: "load_model+0x1f4"; empty: unknown.
  std::string of_event(uint64_t sequence) const;
  format::SiteId site_of_event(uint64_t sequence) const;
  format::SiteId site_of_allocation(format::AllocationId id) const;
  // The allocating call, with the allocation's number at that site: "load_model+0x1f4#2".
  std::string of_allocation(format::AllocationId id) const;

 private:
  const format::Trace& trace_;
  std::unordered_map<format::AllocationId, const format::AllocationBegin*> begins_;
};

}  // namespace gfxgraph::check
