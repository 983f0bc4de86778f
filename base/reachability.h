// Determines the order of operations in a growing acyclic graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gfxgraph {

// Ancestor queries over a growing acyclic graph, with a vector clock per operation over chains
// ("lanes"). At most kMaxLanes chains: a wider graph gets a few extra edges between independent
// operations, which is always correct.
class Reachability {
 public:
  static constexpr size_t kMaxLanes = 64;

  // Adds the next operation. Reduces `dependencies` (earlier operations) to those not implied by
  // others: the transitive reduction.
  void add(std::vector<uint32_t>& dependencies);
  // Whether `later` is `earlier` or waits for it.
  bool reaches(uint32_t earlier, uint32_t later) const;
  // Removes duplicates and implied elements; result in ascending order.
  void minimise(std::vector<uint32_t>& set) const;
  size_t lanes() const { return lane_tails_.size(); }
  uint32_t lane(uint32_t operation) const { return places_[operation].lane; }

 private:
  uint32_t choose_lane(std::vector<uint32_t>& dependencies) const;

  struct Place {
    uint32_t lane = 0;
    uint32_t position = 0;
  };
  std::vector<Place> places_;
  std::vector<std::vector<uint32_t>> clocks_;  // [operation][lane]: positions reached, 0: none
  std::vector<uint32_t> lane_tails_;
};

}  // namespace gfxgraph
