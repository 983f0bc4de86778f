// Which arguments of a trace's launches differ between the iterations of its steps.
#pragma once

#include <vector>

#include "footprint/launch.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

// Of all iterations of all ranges and, where the program marked none, of repetitions of periods.
// By launch.
std::vector<footprint::OpenArgument> varying_arguments(const format::Trace& trace);

}  // namespace gfxgraph::tools
