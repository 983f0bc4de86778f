// gfxgraph info --dag: what launches need of each other, beside the order that the program asks
// for.
#pragma once

#include <string>

#include "check/order/data_order.h"

namespace gfxgraph::tools {

// `format`: "text", "json" or "dot".
std::string render_dag(const format::Trace& trace, const check::DataOrderReport& report,
                       const std::string& name, const std::string& format);

}  // namespace gfxgraph::tools
