#include "lanecheck/sites.h"

#include <bit>

namespace gfxgraph::lanecheck {
namespace {

bool earlier(const EventPlace& a, const EventPlace& b) {
  return std::tie(a.launch, a.group, a.wave) < std::tie(b.launch, b.group, b.wave);
}

}  // namespace

void Sites::add(uint32_t kernel, const LaneEvent& event) {
  if (filter_ && !filter_(kernel, event)) return;
  const std::scoped_lock lock(mutex_);
  Site& site = sites_[Key{kernel, event.pc, event.finding_class}];
  if (site.events == 0 || earlier(event.place, site.first.place)) {
    site.first = event;
    site.nearest.reset();
    site.owner.clear();
  }
  // Launches run one after the other.
  const uint64_t launch = event.place.launch;
  if (site.launches.empty() || site.launches.back().end < launch)
    site.launches.push_back({launch, launch + 1});
  else
    site.launches.back().end = launch + 1;
  ++site.events;
  site.lanes_total += static_cast<uint64_t>(std::popcount(event.lanes));
}

}  // namespace gfxgraph::lanecheck
