// Determines whether a step could be captured into a hipGraph and launched again, and lists the
// obstacles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/ranges/range_parameters.h"
#include "format/ranges/trace_periods.h"
#include "format/ranges/trace_ranges.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

enum class Severity : uint8_t {
  kBreaksCapture,  // HIP refuses the call while a stream is captured, or it invalidates the capture
  kSpoilsReuse,    // can be captured, but another launch of that graph would do something else
  kSlows,
};

// Where the program made such calls.
struct LintSite {
  format::SiteId site = 0;
  uint64_t count = 0;
};

// One reason, of all iterations together.
struct LintLine {
  Severity severity = Severity::kBreaksCapture;
  std::string category;  // see docs/ranges.md
  std::string what;      // may hold names of the trace
  uint64_t count = 0;    // calls; of what changes, places of one iteration; of work, shapes
  uint64_t first_event = 0;
  const char* why = "";
  // Those with most calls first; what has no known site is in none.
  std::vector<LintSite> sites = {};
};

struct LintReport {
  enum class Kind : uint8_t { kRange, kPeriod, kTrace };
  Kind kind = Kind::kRange;
  std::string name;             // of the ranges; "period 1"; empty: the whole trace
  uint64_t iterations = 0;      // ranges of that name, also those that were not left
  uint64_t launches = 0;        // of all of them, without the nodes of graphs
  bool compared = false;        // whether two iterations or more tell what changes
  std::vector<LintLine> lines;  // by severity, then category
};

// For each name of ranges, in order of appearance; in a trace without ranges for each period, and
// for the whole trace. Nodes of launched graphs are ignored, because they are in a graph already.
//
// In a trace with only ranges, memory that the program allocated before begins in the range that
// uses it first. There, allocations count only if they are freed later, and neither modules nor
// first launches are known.
std::vector<LintReport> lint_steps(const format::Trace& trace,
                                   const std::vector<ranges::RangeSummary>& ranges,
                                   const std::vector<ranges::Period>& periods,
                                   const std::vector<ranges::RangeComparison>& comparisons);

// "breaks capture", "spoils reuse", "slows".
const char* severity_name(Severity severity);

}  // namespace gfxgraph::tools
