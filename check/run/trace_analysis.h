// Executes all launches of a trace to analyse it, not to find errors: where words point
// (provenance.h), which data launches share (data_order.h).
#pragma once

#include "base/result.h"
#include "check/budget.h"
#include "check/options.h"
#include "check/order/data_order.h"
#include "check/provenance/provenance.h"
#include "check/report/report.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Either may be null; both must outlive the run.
struct TraceAnalysis {
  Provenance* words = nullptr;
  DataOrder* order = nullptr;
};

// As check_trace(), but with this analysis instead of findings.
Result<Report> run_analysis(const format::Trace& trace, const CheckOptions& options, Budget& budget,
                            const TraceAnalysis& analysis);

}  // namespace gfxgraph::check
