// Computes which operation must wait for which: the explicit graph behind a recorded stream of
// calls. Needs no device and no HIP. The rules: order/stream_order.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/program/program.h"

namespace gfxgraph::replayer {

struct Dag {
  // For each operation: the earlier ones that it waits for, reduced, ascending.
  std::vector<std::vector<uint32_t>> dependencies;
  size_t edges = 0;
  size_t edges_before_reduction = 0;
  size_t lanes = 0;
};

Dag build_dag(const Program& program);

}  // namespace gfxgraph::replayer
