// The size of a launch, and the part of its last workgroups that a partial grid has.
#pragma once

#include <array>
#include <cstdint>

namespace gfxgraph::recorder {

struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> grid_remainder = {0, 0, 0};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  bool cooperative = false;
};

}  // namespace gfxgraph::recorder
