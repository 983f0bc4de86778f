// What gfxgraph coverage --waits prints.
#pragma once

#include <vector>

#include "tools/coverage/coverage.h"

namespace gfxgraph::tools {

// All to stdout. `files`: with waits.
void print_waits_text(const std::vector<FileCoverage>& files);
void print_waits_json(const std::vector<FileCoverage>& files);
// kExitUnsafeLanes if there are findings, else kExitDataLost if a kernel was not analysed whole,
// else kExitOk.
int waits_exit_code(const std::vector<FileCoverage>& files);

}  // namespace gfxgraph::tools
