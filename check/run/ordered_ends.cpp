#include "check/run/ordered_ends.h"

#include <map>
#include <utility>
#include <variant>

#include "base/checked.h"

namespace gfxgraph::check {
namespace {

struct LiveRange {
  uint64_t end = 0;
  format::AllocationId id = 0;
};

// Those that overlap it leave the map.
std::vector<format::AllocationId> take_overlapped(std::map<uint64_t, LiveRange>& live,
                                                  uint64_t begin, uint64_t end) {
  std::vector<format::AllocationId> taken;
  auto at = live.lower_bound(begin);
  if (at != live.begin() && std::prev(at)->second.end > begin) --at;
  while (at != live.end() && at->first < end) {
    taken.push_back(at->second.id);
    at = live.erase(at);
  }
  return taken;
}

}  // namespace

OrderedEnds::OrderedEnds(const format::Trace& trace) : trace_(trace) {
  std::map<uint64_t, LiveRange> live;  // by address
  std::unordered_map<format::AllocationId, uint64_t> addresses;
  std::unordered_map<format::AllocationId, uint64_t> early;  // the event that it must precede
  const std::vector<format::Event>& events = trace.events();
  for (uint64_t index = 0; index < events.size(); ++index) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&events[index].action)) {
      const auto end = checked_add(begin->recorded_address, begin->size_bytes);
      if (begin->array || begin->size_bytes == 0 || !end) continue;  // arrays have no addresses
      for (const format::AllocationId id : take_overlapped(live, begin->recorded_address, *end)) {
        early[id] = index;
        addresses.erase(id);
      }
      live[begin->recorded_address] = {*end, begin->id};
      addresses[begin->id] = begin->recorded_address;
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&events[index].action)) {
      if (const auto found = addresses.find(end->id); found != addresses.end()) {
        live.erase(found->second);
        addresses.erase(found);
      } else if (const auto moved = early.find(end->id); moved != early.end()) {
        before_[moved->second].push_back(&events[index]);
        moved_.insert(index);
        early.erase(moved);
      }
    }
  }
  for (const auto& [id, index] : early) {
    format::Event& event = missing_.emplace_back();
    event.sequence = events[index].sequence;
    format::AllocationEnd end;
    end.id = id;
    event.action = end;
    before_[index].push_back(&event);
  }
}

}  // namespace gfxgraph::check
