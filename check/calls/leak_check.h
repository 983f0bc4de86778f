// What the program leaves behind at the end of the trace, and memory and copies that nothing uses
// (leakcheck). Reads the trace only: memory counts as used as soon as work is given its address.
#pragma once

#include <string>
#include <vector>

#include "check/report/sites.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// Adds findings to `sites`, and to `notes` what cannot be told from this trace.
void find_leaks(const format::Trace& trace, Sites& sites, std::vector<std::string>& notes);

}  // namespace gfxgraph::check
