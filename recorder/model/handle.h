#pragma once

namespace gfxgraph::recorder {

// Of a stream, event, graph, node, module, function or symbol of the program, by the runtime's
// pointer. Handles of what is gone may be given out again.
using Handle = const void*;

}  // namespace gfxgraph::recorder
