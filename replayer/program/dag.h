// Computes which operation must wait for which: the explicit graph behind a recorded stream of
// calls. Needs no device and no HIP. The rules: order/stream_order.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "order/needed_edges.h"
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

// Whether the edges are of this trace, as it was opened; `whole` is all of it. kInvalidArgument:
// they are of another one.
Result<void> check_edges(const Program& whole, const order::NeededEdges& edges);
// Which packets of a queue need the barrier bit, so that each operation begins after those that it
// needs: a packet with it begins when all before it are complete. `packet_of`: of each operation,
// in rising order; kNoPacket: it has none. `begins`: packets that have the bit anyway.
inline constexpr uint32_t kNoPacket = UINT32_MAX;
std::vector<bool> needed_barriers(std::span<const std::vector<uint32_t>> needs,
                                  std::span<const uint32_t> packet_of, uint32_t packets,
                                  std::span<const uint32_t> begins);
// Those of a program that was cut from it, or of all of it, in place of its recorded order.
Dag needed_dag(const Program& program, const Dag& recorded, const order::NeededEdges& edges);

}  // namespace gfxgraph::replayer
