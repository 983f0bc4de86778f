// Visits all stored bytes and all pointers of a trace.
#pragma once

#include <functional>
#include <string>

#include "format/read/reader.h"
#include "format/trace.h"

namespace gfxgraph::tools {

// Calls `visit` with each Content of the trace and a name for it ("event 12: initial contents of
// allocation 3").
void for_each_content(
    const format::Trace& trace,
    const std::function<void(const format::Content& content, const std::string& what)>& visit);

// Calls `visit` with each kernel launch: those of the stream and those inside graphs. `where` is
// "event 12" or "graph 1 node 4".
void for_each_stored_launch(
    const format::Trace& trace,
    const std::function<void(const format::Launch& launch, const std::string& where)>& visit);

}  // namespace gfxgraph::tools
