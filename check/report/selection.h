// Selects the findings that a check reports, by tool, kernel and launch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/report/finding.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

using ToolSet = std::array<bool, kTools>;
// Without the slower tools.
inline constexpr ToolSet kDefaultTools = {true, true, true, false, false, true};
// Parses "memcheck,lanes" or "all". kInvalidArgument names an unknown tool.
Result<ToolSet> parse_tools(std::string_view text);

// Parses N (one launch), N:M, N: or :M (from launch N up to, but not including, M; counted from 0).
Result<LaunchRange> parse_launch_range(std::string_view text);

struct SelectionOptions {
  ToolSet tools = kDefaultTools;
  std::vector<std::string> kernels;   // globs; empty: all
  std::vector<LaunchRange> launches;  // empty: all
  bool several_traces = false;        // a trace need not have all of the kernels and launches
};

// Tracks which selected kernels and launches exist in at least one trace. Order: kernels, then
// launches.
class SelectionUse {
 public:
  explicit SelectionUse(const SelectionOptions& options)
      : options_(options), found_(options.kernels.size() + options.launches.size()) {}
  void add(const format::Trace& trace);
  // kInvalidArgument names the first one that no trace has. `where`, for the message: "the trace",
  // "these traces".
  Result<void> complete(std::string_view where) const;

 private:
  const SelectionOptions& options_;
  std::vector<bool> found_;
  uint64_t most_launches_ = 0;
};

// Number of launches from the event with this index on; each kernel node of a launched graph
// counts.
uint64_t count_launches(const format::Trace& trace, size_t first_event = 0);

// Chooses the findings to report; a check executes all launches in any case.
class Selection {
 public:
  // Unless options.several_traces, kInvalidArgument names a kernel or launch that `trace` does not
  // have.
  static Result<Selection> make(const format::Trace& trace, const SelectionOptions& options);

  bool has(Tool tool) const { return tools_[static_cast<size_t>(tool)]; }
  // `kernel`: the id in the trace.
  bool has_launch(uint32_t kernel, uint64_t launch) const;

 private:
  ToolSet tools_ = kDefaultTools;
  std::vector<bool> kernels_;  // by id - 1; empty: all
  std::vector<LaunchRange> launches_;
};

}  // namespace gfxgraph::check
