#include "base/reachability.h"

#include <algorithm>
#include <functional>

namespace gfxgraph {

bool Reachability::reaches(uint32_t earlier, uint32_t later) const {
  const Place place = places_[earlier];
  const std::vector<uint32_t>& clock = clocks_[later];
  return place.lane < clock.size() && clock[place.lane] > place.position;
}

void Reachability::minimise(std::vector<uint32_t>& set) const {
  if (set.size() < 2) return;
  std::sort(set.begin(), set.end(), std::greater<>());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::vector<uint32_t> kept;
  for (const uint32_t candidate : set) {
    const bool implied = std::any_of(kept.begin(), kept.end(),
                                     [&](uint32_t other) { return reaches(candidate, other); });
    if (!implied) kept.push_back(candidate);
  }
  std::reverse(kept.begin(), kept.end());
  set = std::move(kept);
}

uint32_t Reachability::choose_lane(std::vector<uint32_t>& dependencies) const {
  for (const uint32_t dependency : dependencies) {
    const uint32_t lane = places_[dependency].lane;
    if (lane_tails_[lane] == dependency) return lane;
  }
  for (uint32_t lane = 0; lane < lane_tails_.size(); ++lane) {
    for (const uint32_t dependency : dependencies) {
      if (reaches(lane_tails_[lane], dependency)) return lane;
    }
  }
  if (lane_tails_.size() < kMaxLanes) return static_cast<uint32_t>(lane_tails_.size());
  // Too many lanes: append to the one whose last operation has waited longest.
  const auto oldest = std::min_element(lane_tails_.begin(), lane_tails_.end());
  dependencies.push_back(*oldest);
  minimise(dependencies);
  return static_cast<uint32_t>(oldest - lane_tails_.begin());
}

void Reachability::add(std::vector<uint32_t>& dependencies) {
  minimise(dependencies);
  const auto operation = static_cast<uint32_t>(places_.size());
  const uint32_t lane = choose_lane(dependencies);
  if (lane == lane_tails_.size()) lane_tails_.push_back(operation);
  std::vector<uint32_t> clock(lane_tails_.size(), 0);
  for (const uint32_t dependency : dependencies) {
    const std::vector<uint32_t>& other = clocks_[dependency];
    for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }
  const uint32_t position = clock[lane];
  clock[lane] = position + 1;
  lane_tails_[lane] = operation;
  places_.push_back(Place{lane, position});
  clocks_.push_back(std::move(clock));
}

}  // namespace gfxgraph
