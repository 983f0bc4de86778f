// How much of its kernels a trace executes: the code of each kernel beside what ran of it.
#pragma once

#include "check/execution_table.h"
#include "check/run/trace_analysis.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

// Executes the trace once more, without the tools of a check.
Result<check::ExecutionTable> execution_of(const format::Trace& trace,
                                           const check::BudgetLimits& limits,
                                           const check::LaunchProgress& progress);

}  // namespace gfxgraph::tools
