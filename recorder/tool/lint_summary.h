// What `gfxgraph info --lint` would say of a trace, in a line or two.
#pragma once

#include <string>
#include <vector>

namespace gfxgraph::recorder {

// Asks the `gfxgraph` that stands beside this program, for a few seconds at most. Empty: there is
// none, or it found no steps. Traces that are too large for that get a line that says so.
std::vector<std::string> lint_summary(const std::string& trace);

}  // namespace gfxgraph::recorder
