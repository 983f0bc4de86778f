#include "lanecheck/sites.h"

#include <bit>

namespace gfxgraph::lanecheck {
namespace {

bool earlier(const EventPlace& a, const EventPlace& b) {
  return std::tie(a.launch, a.group, a.wave) < std::tie(b.launch, b.group, b.wave);
}

}  // namespace

void Sites::add(uint32_t kernel, const LaneEvent& event) {
  const std::scoped_lock lock(mutex_);
  Site& site = sites_[Key{kernel, event.pc, event.finding_class}];
  if (site.events == 0 || earlier(event.place, site.first.place)) {
    site.first = event;
    site.nearest.reset();
    site.owner.clear();
  }
  if (site.events == 0 || site.last_launch != event.place.launch) ++site.launches;
  site.last_launch = event.place.launch;
  ++site.events;
  site.lanes_total += static_cast<uint64_t>(std::popcount(event.lanes));
}

}  // namespace gfxgraph::lanecheck
