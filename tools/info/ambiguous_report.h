// The output of `gfxgraph info` about words that only their value marks as pointers.
#pragma once

#include <string>
#include <vector>

#include "tools/trace/trace_summary.h"

namespace gfxgraph::tools {

// One line for each kernel, with its arguments, and for each place in memory, in the order in which
// they were found: "1672 x ambiguous: gemm<...>: argument 'n' at 0x8 (event 3: allocation 1 + 64)".
// After 20 of them a line with the number of the others.
std::vector<std::string> ambiguous_lines(const TraceSummary& summary);

}  // namespace gfxgraph::tools
