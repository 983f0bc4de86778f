// The needed order of a trace's work for gfxgraph-replay --order proven. This program analyses no
// code: gfxgraph, which is installed beside it, does in a confined process of its own.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "order/needed_edges.h"

namespace gfxgraph::replayer {

// Waits for it, for at most `max_seconds`; 0: any time. Before HIP is used. `parameters`: for any
// value of what differs between iterations.
Result<std::shared_ptr<const order::NeededEdges>> prove_order(const std::string& trace,
                                                              bool parameters, double max_seconds);

}  // namespace gfxgraph::replayer
