#include "check/report/sites.h"

#include <bit>

namespace gfxgraph::check {
namespace {

bool earlier(const EventPlace& a, const EventPlace& b) {
  return std::tie(a.launch, a.group, a.wave) < std::tie(b.launch, b.group, b.wave);
}

}  // namespace

bool Sites::take(uint64_t size_bytes) {
  return budget_ == nullptr || budget_->take_memory(size_bytes, "a finding").has_value();
}

void Sites::add(uint32_t kernel, const LaneEvent& event) {
  if (filter_ && !filter_(kernel, event)) return;
  const std::scoped_lock lock(mutex_);
  const Key key{kernel, event.pc, event.finding_class};
  constexpr uint64_t kSiteBytes = sizeof(Key) + sizeof(Site) + 128;
  const auto known = sites_.find(key);
  if (known == sites_.end() && !take(kSiteBytes + event.detail.size() + event.mnemonic.size()))
    return;
  Site& site = known == sites_.end() ? sites_[key] : known->second;
  if (site.events == 0 || earlier(event.place, site.first.place)) {
    site.first = event;
    site.nearest.reset();
    site.owner.clear();
  }
  // Launches run one after the other.
  const uint64_t launch = event.place.launch;
  if (site.launches.empty() || site.launches.back().end < launch) {
    if (site.launches.empty() || take(sizeof(LaunchRange)))
      site.launches.push_back({launch, launch + 1});
  } else {
    site.launches.back().end = launch + 1;
  }
  ++site.events;
  site.lanes_total += static_cast<uint64_t>(std::popcount(event.lanes));
}

}  // namespace gfxgraph::check
