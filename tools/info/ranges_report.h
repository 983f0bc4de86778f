// The output of gfxgraph info --ranges and --lint: ranges, the differences between them, periods.
#pragma once

#include <string>
#include <vector>

#include "format/ranges/range_parameters.h"
#include "format/ranges/trace_periods.h"
#include "format/ranges/trace_ranges.h"
#include "format/read/reader.h"
#include "tools/trace/json_stream.h"

namespace gfxgraph::tools {

// The data of a report about the steps of a trace.
struct TraceSteps {
  explicit TraceSteps(const format::Trace& trace);
  std::vector<ranges::RangeSummary> ranges;
  std::vector<ranges::Period> periods;
  ranges::RangeComparisons compared;  // of ranges, then of periods
};

// One line that counts the ranges; for gfxgraph info without --ranges.
void print_range_count(const std::vector<ranges::RangeSummary>& ranges);
// The table of ranges, periods, and the parameters, inputs and outputs of both, cut where long.
void print_steps(const format::Trace& trace, const TraceSteps& steps);

// The list "ranges".
void print_ranges_json(JsonStream& json, const std::vector<ranges::RangeSummary>& ranges);
// The lists "periods" and "iterations", complete.
void print_steps_json(JsonStream& json, const format::Trace& trace, const TraceSteps& steps);

// "+1", "-64", in bytes or as a number.
std::string step_text(int64_t step);

}  // namespace gfxgraph::tools
