// Computes which operation must wait for which: the explicit graph behind a recorded stream of
// calls. Needs no device and no HIP.
//
// Rules, from the HIP programming manual ("Streams", "Default stream", "Events"): a stream keeps
// its order; the legacy null stream waits for every blocking stream of its device and these wait
// for it; a wait makes the stream's later work follow the work that the event had captured when it
// was last recorded; after the host learned that work is done (format::Synchronize, a blocking
// copy), everything issued later follows that work. A kernel that reaches memory which the host can
// poll may have told it anything, and so does a value that is stored there: later work follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/reachability.h"
#include "replayer/program.h"

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
