// Suppression files: findings that were reviewed and accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/report/report.h"

namespace gfxgraph::check {

// A line of a suppression file:
//   CLASS KERNEL [FILE:LINE] -- REASON
// CLASS: code or name. KERNEL: a glob (base/cli/kernel_glob.h); with spaces in "quotes". FILE: the
// last part of a path. A line that is empty or begins with '#' is a comment.
struct Suppression {
  FindingClass finding_class = FindingClass::kE1;
  std::string kernel;
  std::string file;  // "": any source line
  uint32_t line = 0;
  std::string reason;
  std::string where;  // place of this line, for messages: "FILE:12"
};

// kInvalidArgument: the message is "NAME:LINE: problem".
Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& name);

// Marks matching findings as suppressed. A suppression that matches none becomes a note of the
// report.
void apply_suppressions(const std::vector<Suppression>& suppressions, Report& report);
// The two steps of apply_suppressions(), for several reports: suppress() sets `used` for each
// suppression that matches.
void suppress(const std::vector<Suppression>& suppressions, Report& report,
              std::vector<bool>& used);
void note_unused(const std::vector<Suppression>& suppressions, const std::vector<bool>& used,
                 Report& report, const char* where = "this trace");

}  // namespace gfxgraph::check
