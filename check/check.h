// Executes every launch of a trace in the emulator, without HIP, and reports the findings of
// docs/check.md.
#pragma once

#include "base/result.h"
#include "check/options.h"
#include "check/report/report.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Runs the check. Errors: the trace cannot be executed at all (missing blobs, another architecture,
// no memory). An exhausted budget is not an error: Report::stopped says where the check stopped.
Result<Report> check_trace(const format::Trace& trace, const CheckOptions& options = {});

}  // namespace gfxgraph::check
