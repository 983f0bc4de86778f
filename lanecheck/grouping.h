// Findings of one source line as one.
#pragma once

#include <vector>

#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

// Joins findings of one class and kernel at one place of the source: compilers make several
// instructions of one access when they unroll loops, inline functions or split vectors. What has no
// line stays as it is.
void group_by_line(std::vector<Finding>& findings);

}  // namespace gfxgraph::lanecheck
