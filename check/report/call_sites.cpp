#include "check/report/call_sites.h"

#include <variant>

#include "format/site_name.h"

namespace gfxgraph::check {

CallSites::CallSites(const format::Trace& trace) : trace_(trace) {
  for (const format::Event& event : trace.events()) {
    const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
    if (begin != nullptr && begin->site != 0) begins_.emplace(begin->id, begin);
  }
}

format::SiteId CallSites::site_of_event(uint64_t sequence) const {
  return sequence < trace_.events().size() ? trace_.events()[sequence].site : 0;
}

format::SiteId CallSites::site_of_allocation(format::AllocationId id) const {
  const auto found = begins_.find(id);
  return found == begins_.end() ? 0 : found->second->site;
}

std::string CallSites::of_event(uint64_t sequence) const {
  const format::SiteId site = site_of_event(sequence);
  if (site == 0 || site > trace_.sites().size()) return {};
  return format::site_name(trace_.sites()[site - 1]);
}

std::string CallSites::of_allocation(format::AllocationId id) const {
  const auto found = begins_.find(id);
  return found == begins_.end() ? std::string() : format::made_name(trace_.sites(), *found->second);
}

}  // namespace gfxgraph::check
