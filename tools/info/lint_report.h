// The output of gfxgraph info --lint.
#pragma once

#include <vector>

#include "tools/info/range_lint.h"
#include "tools/info/ranges_report.h"
#include "tools/trace/json_stream.h"

namespace gfxgraph::tools {

std::vector<LintReport> lint(const format::Trace& trace, const TraceSteps& steps);
void print_lint(const format::Trace& trace, const std::vector<LintReport>& reports);
// A line for each of the first steps, without what only slows; nothing for a trace without steps.
void print_lint_summary(const format::Trace& trace, const std::vector<LintReport>& reports);
// The list "lint".
void print_lint_json(JsonStream& json, const format::Trace& trace,
                     const std::vector<LintReport>& reports);
// The elements of that list.
nlohmann::ordered_json lint_json(const format::Trace& trace,
                                 const std::vector<LintReport>& reports);

}  // namespace gfxgraph::tools
