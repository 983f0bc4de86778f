// The report at the end of the process, for people and as JSON (docs/schemas/accelerate.json).
#pragma once

#include <string>

#include "accelerate/hold/holder.h"

namespace gfxgraph::accelerate {

// A few lines, each with its end.
std::string report_text(const Report& report);
std::string report_json(const Report& report, const std::string& program, int process);

}  // namespace gfxgraph::accelerate
