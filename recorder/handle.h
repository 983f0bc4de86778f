#pragma once

namespace gfxgraph::recorder {

// A stream, event, graph, node, module, function or symbol of the program, by the runtime's
// pointer. The runtime may reuse handles of destroyed objects.
using Handle = const void*;

}  // namespace gfxgraph::recorder
