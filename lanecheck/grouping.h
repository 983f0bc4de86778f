// Joins the findings of one source line.
#pragma once

#include <vector>

#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

// Joins findings of one class and kernel at one place of the source: compilers make several
// instructions of one access when they unroll loops, inline functions or split vectors. Findings
// without a line stay unchanged.
void group_by_line(std::vector<Finding>& findings);

}  // namespace gfxgraph::lanecheck
