#include "check/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "base/cli/kernel_glob.h"
#include "base/cli/print.h"
#include "base/demangle.h"
#include "format/walk.h"

namespace gfxgraph::check {
namespace {

bool number(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<ToolSet> parse_tools(std::string_view text) {
  ToolSet tools = {};
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view name = text.substr(at, comma - at);
    at = comma + 1;
    if (name == "all") {
      // Not what the program leaves to its end, nor what works.
      for (size_t n = 0; n < kTools; ++n) {
        const auto tool = static_cast<Tool>(n);
        if (tool != Tool::kLeakcheck && tool != Tool::kPerf) tools[n] = true;
      }
      continue;
    }
    const std::optional<Tool> tool = find_tool(name);
    if (!tool) {
      return fail(
          Status::kInvalidArgument,
          format_printable(
              "'{}' is not a tool; use memcheck, synccheck, lanes, racecheck, initcheck, apicheck, "
              "leakcheck, perf or all",
              std::string(name)));
    }
    tools[static_cast<size_t>(*tool)] = true;
  }
  // It counts every access and judges none.
  if (tools[static_cast<size_t>(Tool::kPerf)] && std::ranges::count(tools, true) != 1)
    return fail(Status::kInvalidArgument, "the tool perf runs alone: use --tool perf");
  return tools;
}

Result<LaunchRange> parse_launch_range(std::string_view text) {
  LaunchRange range;
  const size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  bool fine = !text.empty() && text != ":";
  if (!first.empty()) fine = fine && number(first, range.first);
  if (colon == std::string_view::npos) {
    range.end = range.first + 1;
  } else if (colon + 1 < text.size()) {
    fine = fine && number(text.substr(colon + 1), range.end);
  }
  if (!fine || range.first >= range.end) {
    return fail(Status::kInvalidArgument,
                format_printable("launches '{}': expected N, N:M, N: or :M", std::string(text)));
  }
  return range;
}

uint64_t count_launches(const format::Trace& trace, size_t first_event) {
  uint64_t count = 0;
  for (size_t n = first_event; n < trace.events().size(); ++n)
    format::for_each_launch(trace, trace.events()[n],
                            [&](const format::PlacedLaunch&) { ++count; });
  return count;
}

namespace {

// The kernels of the trace that the glob matches.
template <typename Visit>
void visit_matches(const format::Trace& trace, const std::string& glob, const Visit& visit) {
  for (size_t n = 0; n < trace.kernels().size(); ++n) {
    const std::string& name = trace.kernels()[n].name;
    if (matches_kernel(glob, name, demangle(name))) visit(n);
  }
}

}  // namespace

void SelectionUse::add(const format::Trace& trace) {
  const size_t kernels = options_.kernels.size();
  for (size_t i = 0; i < kernels; ++i)
    visit_matches(trace, options_.kernels[i], [&](size_t) { found_[i] = true; });
  if (options_.launches.empty()) return;
  const uint64_t count = count_launches(trace);
  most_launches_ = std::max(most_launches_, count);
  for (size_t i = 0; i < options_.launches.size(); ++i)
    if (options_.launches[i].first < count) found_[kernels + i] = true;
}

Result<void> SelectionUse::complete(std::string_view where) const {
  const auto missing = std::ranges::find(found_, false);
  if (missing == found_.end()) return {};
  const auto at = static_cast<size_t>(missing - found_.begin());
  if (at < options_.kernels.size()) {
    return fail(Status::kInvalidArgument,
                format_printable("no kernel of {} matches '{}'; gfxgraph info lists them", where,
                                 options_.kernels[at]));
  }
  return fail(Status::kInvalidArgument,
              fmt::format("launch {} does not exist: {} {}, counted from 0",
                          options_.launches[at - options_.kernels.size()].first,
                          where == "the trace" ? "the trace has" : "the longest of them has",
                          most_launches_));
}

Result<Selection> Selection::make(const format::Trace& trace, const SelectionOptions& options) {
  if (!options.several_traces) {
    SelectionUse use(options);
    use.add(trace);
    GFXGRAPH_TRY(use.complete("the trace"));
  }
  Selection selection;
  selection.tools_ = options.tools;
  selection.launches_ = options.launches;
  if (options.kernels.empty()) return selection;
  selection.kernels_.resize(trace.kernels().size());
  for (const std::string& glob : options.kernels)
    visit_matches(trace, glob, [&](size_t n) { selection.kernels_[n] = true; });
  return selection;
}

bool Selection::has_launch(uint32_t kernel, uint64_t launch) const {
  if (!kernels_.empty() && (kernel == 0 || kernel > kernels_.size() || !kernels_[kernel - 1]))
    return false;
  return launches_.empty() || std::ranges::any_of(launches_, [&](const LaunchRange& range) {
           return launch >= range.first && launch < range.end;
         });
}

}  // namespace gfxgraph::check
