// Findings of an earlier report: what was there before does not fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {

// The same finding: class, kernel, and its source line or, without one, its place in the kernel.
struct KnownFinding {
  FindingClass finding_class = FindingClass::kE1;
  std::string kernel;
  std::string file;  // "": no source line
  uint64_t line = 0;
  uint64_t kernel_offset = 0;
  std::string report;  // the file that lists it
};

// A report of render_json(). kInvalidArgument: it is none.
Result<std::vector<KnownFinding>> parse_baseline(std::string_view text, const std::string& name);

// Marks the findings as suppressed.
void apply_baseline(const std::vector<KnownFinding>& known, Report& report);

}  // namespace gfxgraph::lanecheck
