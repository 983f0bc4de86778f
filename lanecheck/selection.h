// Which findings a check is asked for: tools, kernels, launches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/reader.h"
#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

using ToolSet = std::array<bool, kTools>;
// The others take longer.
inline constexpr ToolSet kDefaultTools = {true, true, true};
// "memcheck,lanes"; "all". kInvalidArgument names what is not a tool.
Result<ToolSet> parse_tools(std::string_view text);

// N: one launch; N:M, N: or :M: from the N-th to the one before the M-th.
Result<LaunchRange> parse_launch_range(std::string_view text);

struct SelectionOptions {
  ToolSet tools = kDefaultTools;
  std::vector<std::string> kernels;   // globs; empty: all
  std::vector<LaunchRange> launches;  // empty: all
  bool several_traces = false;        // each may lack some of the kernels and launches
};

// Which of the kernels, and then of the launches, some trace has.
class SelectionUse {
 public:
  explicit SelectionUse(const SelectionOptions& options)
      : options_(options), found_(options.kernels.size() + options.launches.size()) {}
  void add(const format::Trace& trace);
  // kInvalidArgument names the first one that no trace has; `where`: "the trace", "these traces".
  Result<void> complete(std::string_view where) const;

 private:
  const SelectionOptions& options_;
  std::vector<bool> found_;
  uint64_t most_launches_ = 0;
};

// How many launches a trace has from its event with this index on, graph nodes counted singly.
uint64_t count_launches(const format::Trace& trace, size_t first_event = 0);

// All launches are executed; this chooses what is reported.
class Selection {
 public:
  // kInvalidArgument names a kernel or launch that the trace does not have, if it is the only one.
  static Result<Selection> make(const format::Trace& trace, const SelectionOptions& options);

  bool has(Tool tool) const { return tools_[static_cast<size_t>(tool)]; }
  // `kernel`: id in the trace.
  bool has_launch(uint32_t kernel, uint64_t launch) const;

 private:
  ToolSet tools_ = kDefaultTools;
  std::vector<bool> kernels_;  // by id - 1; empty: all
  std::vector<LaunchRange> launches_;
};

}  // namespace gfxgraph::lanecheck
