// The output of gfxgraph info --lint.
#pragma once

#include <vector>

#include "tools/json_stream.h"
#include "tools/range_lint.h"

namespace gfxgraph::tools {

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
