// Baselines: findings that an earlier report lists do not fail a check.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/report/report.h"

namespace gfxgraph::check {

// Identifies a finding by class, kernel, and source line or, without one, its offset in the kernel.
struct KnownFinding {
  FindingClass finding_class = FindingClass::kE1;
  std::string kernel;
  std::string file;  // "": no source line
  uint64_t line = 0;
  uint64_t kernel_offset = 0;
  std::string report;  // the file that lists it
};

// Parses a report of render_json(). kInvalidArgument if it is not one. `name`: of the file, for
// messages.
Result<std::vector<KnownFinding>> parse_baseline(std::string_view text, const std::string& name);

// Marks the report's findings that are in `known` as suppressed.
void apply_baseline(const std::vector<KnownFinding>& known, Report& report);

}  // namespace gfxgraph::check
