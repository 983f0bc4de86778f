// Empty nodes where the runtime would not keep the order of a graph (base/hip_quirks.inc). Other
// runtimes get the graphs as they are.
#pragma once

#include <hip/hip_runtime_api.h>

#include "capture/captures.h"

namespace gfxgraph::capture {

// For a node that is to follow all of `after`, which become others:
//   - one root for all where this runtime may begin several too early. It is the capture's first
//     node, or an empty one if streams forked before there was any;
//   - one node for several where it may lose their edges.
hipError_t keep_order(Captures::Work& work, Nodes& after, bool is_child);
// Of a graph that becomes a child: a copy with one root, and with one end where this runtime might
// not wait for several. Null: the graph can stay as it is.
hipError_t copy_in_order(hipGraph_t child, hipGraph_t& copy);

}  // namespace gfxgraph::capture
