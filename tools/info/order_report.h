// gfxgraph info --order: which order of a trace's work is needed, by proof (footprint/).
#pragma once

#include <string>

#include "footprint/needed_order.h"

namespace gfxgraph::tools {

std::string render_order(const format::Trace& trace, const footprint::NeededOrder& order,
                         const std::string& name, bool json);

}  // namespace gfxgraph::tools
