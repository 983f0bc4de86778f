// Merges the findings of a source line.
#pragma once

#include <vector>

#include "check/report/finding.h"

namespace gfxgraph::check {

// Merges findings with the same class, kernel and source line: compilers turn one access into
// several instructions when they unroll loops, inline functions or split vectors. Findings without
// a line are unchanged.
void group_by_line(std::vector<Finding>& findings);

}  // namespace gfxgraph::check
