#include "recorder/selection/range_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "recorder/selection/decimal.h"

namespace gfxgraph::recorder {

Result<RangePattern> parse_range_pattern(std::string_view text) {
  RangePattern pattern;
  pattern.text = text;
  const size_t hash = text.rfind('#');
  pattern.name = text.substr(0, hash);
  if (text.find('\n') != std::string_view::npos || text.find('\0') != std::string_view::npos) {
    return fail(Status::kInvalidArgument, "a range's name is one line");
  }
  if (hash == std::string_view::npos) return pattern;
  const std::string_view which = text.substr(hash + 1);
  const size_t dash = which.find('-');
  const bool fine = dash == std::string_view::npos
                        ? parse_decimal(which, pattern.first) && parse_decimal(which, pattern.last)
                        : parse_decimal(which.substr(0, dash), pattern.first) &&
                              parse_decimal(which.substr(dash + 1), pattern.last);
  if (!fine || pattern.first > pattern.last) {
    return fail(Status::kInvalidArgument,
                fmt::format("range '{}': expected NAME, NAME#N or NAME#N-M", text));
  }
  return pattern;
}

bool RangeSelection::begins(const std::string& name, uint64_t ordinal) {
  bool selected = false;
  bool named = false;
  for (const RangePattern& pattern : patterns_) named = named || pattern.name == name;
  if (!named) {
    if (others_.size() < kMostShown && std::ranges::find(others_, name) == others_.end())
      others_.push_back(name);
    return false;
  }
  counts_[name] = ordinal + 1;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const RangePattern& pattern = patterns_[i];
    if (pattern.name != name || ordinal < pattern.first || ordinal > pattern.last) continue;
    ++hits_[i];
    selected = true;
  }
  return selected;
}

std::vector<RangeSelection::Missed> RangeSelection::missed() const {
  std::vector<Missed> lines;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const RangePattern& pattern = patterns_[i];
    const auto found = counts_.find(pattern.name);
    const uint64_t count = found == counts_.end() ? 0 : found->second;
    if (hits_[i] == 0) {
      lines.push_back(
          {fmt::format("'{}' was never entered: there were {} ranges of that name{}", pattern.text,
                       count, others_.empty() ? "" : "; others: " + shown_names(others_, 0)),
           true});
    } else if (pattern.last != UINT64_MAX && count <= pattern.last) {
      lines.push_back({fmt::format("'{}' was entered {} times: there were {} ranges of that name",
                                   pattern.text, hits_[i], count),
                       false});
    }
  }
  return lines;
}

}  // namespace gfxgraph::recorder
