#include "check/report/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gfxgraph::check {
namespace {

constexpr const char* kToolNames[] = {"memcheck",  "synccheck", "lanes",     "racecheck",
                                      "initcheck", "apicheck",  "leakcheck", "perf"};
static_assert(std::size(kToolNames) == kTools);

}  // namespace

const char* tool_name(Tool tool) noexcept { return kToolNames[static_cast<size_t>(tool)]; }

std::optional<Tool> find_tool(std::string_view name) noexcept {
  for (size_t n = 0; n < kTools; ++n)
    if (name == kToolNames[n]) return static_cast<Tool>(n);
  return std::nullopt;
}

const char* severity_name(Severity severity) noexcept {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "note";
}

std::optional<FindingClass> find_class(std::string_view text) noexcept {
  for (size_t n = 0; n < kFindingClasses; ++n)
    if (text == kClassTexts[n].code || text == kClassTexts[n].name)
      return static_cast<FindingClass>(n);
  return std::nullopt;
}

std::vector<LaunchRange> join_ranges(std::vector<LaunchRange> a,
                                     const std::vector<LaunchRange>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a, {}, &LaunchRange::first);
  std::vector<LaunchRange> result;
  for (const LaunchRange& range : a) {
    if (!result.empty() && range.first <= result.back().end)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  }
  return result;
}

uint64_t count_of(const std::vector<LaunchRange>& ranges) {
  uint64_t count = 0;
  for (const LaunchRange& range : ranges) count += range.end - range.first;
  return count;
}

std::string lane_ranges(uint64_t lanes) {
  std::string text;
  for (unsigned first = 0; first < 64;) {
    if ((lanes >> first & 1) == 0) {
      ++first;
      continue;
    }
    unsigned last = first;
    while (last + 1 < 64 && (lanes >> (last + 1) & 1) != 0) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last + 1;
  }
  return text;
}

}  // namespace gfxgraph::check
