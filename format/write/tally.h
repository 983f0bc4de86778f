// Adds an event or graph to Statistics. Shared by writer and reader. Internal to format/.
#pragma once

#include "format/trace.h"

namespace gfxgraph::format {

void count(Statistics& statistics, const Event& event);
void count(Statistics& statistics, const Graph& graph);

}  // namespace gfxgraph::format
