// What gfxgraph info --lint prints.
#pragma once

#include <vector>

#include "tools/json_stream.h"
#include "tools/range_lint.h"

namespace gfxgraph::tools {

void print_lint(const std::vector<LintReport>& reports);
// The list "lint".
void print_lint_json(JsonStream& json, const std::vector<LintReport>& reports);

}  // namespace gfxgraph::tools
