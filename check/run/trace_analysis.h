// Executes all launches of a trace to analyse it, not to find errors: where words point
// (provenance.h), which data launches share (data_order.h), which code runs (executed_code.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/executed/executed_code.h"
#include "check/options.h"
#include "check/order/data_order.h"
#include "check/provenance/provenance.h"
#include "check/report/report.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Each may be null; they must outlive the run.
struct TraceAnalysis {
  Provenance* words = nullptr;
  DataOrder* order = nullptr;
  ExecutedCode* executed = nullptr;
};

// Which code the launches of a trace execute.
struct ExecutedTrace {
  std::vector<ExecutedObject> objects;  // index: code object id - 1
  std::vector<uint64_t> launches;       // index: kernel id - 1
  uint64_t failed_launches = 0;
  std::string failure;  // the first one's kernel and reason
  std::string stopped;  // the exhausted limit; "": none
};
Result<ExecutedTrace> executed_code(const format::Trace& trace, const BudgetLimits& limits,
                                    const LaunchProgress& progress = {});

// As check_trace(), but with this analysis instead of findings.
Result<Report> run_analysis(const format::Trace& trace, const CheckOptions& options, Budget& budget,
                            const TraceAnalysis& analysis);

}  // namespace gfxgraph::check
