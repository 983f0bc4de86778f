#include "recorder/selection/launch_selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/amount.h"
#include "base/cli/kernel_glob.h"
#include "base/demangle.h"
#include "recorder/selection/decimal.h"

namespace gfxgraph::recorder {
namespace {

bool one_line(std::string_view text) {
  return text.find('\n') == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

}  // namespace

Result<LaunchInterval> parse_launch_interval(std::string_view text) {
  LaunchInterval interval;
  interval.text = text;
  const size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  const std::string_view end =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const bool fine = colon != std::string_view::npos && (!first.empty() || !end.empty()) &&
                    (first.empty() || parse_decimal(first, interval.first)) &&
                    (end.empty() || parse_decimal(end, interval.end));
  if (!fine) {
    return fail(Status::kInvalidArgument,
                fmt::format("launches '{}': expected N:M, N: or :M", text));
  }
  if (interval.first >= interval.end) {
    return fail(Status::kInvalidArgument,
                fmt::format("launches '{}': the first one must be less than the end", text));
  }
  return interval;
}

Result<KernelPattern> parse_kernel_pattern(std::string_view text) {
  KernelPattern pattern;
  pattern.text = text;
  pattern.glob = text;
  if (!one_line(text)) return fail(Status::kInvalidArgument, "a kernel's name is one line");
  const size_t hash = text.rfind('#');
  const std::string_view which =
      hash == std::string_view::npos ? std::string_view() : text.substr(hash + 1);
  if (!which.empty() && which[0] >= '0' && which[0] <= '9' &&
      which.find_first_not_of("0123456789-") == std::string_view::npos) {
    pattern.glob = text.substr(0, hash);
    const size_t dash = which.find('-');
    const bool fine = parse_decimal(which.substr(0, dash), pattern.first) &&
                      parse_decimal(dash == std::string_view::npos ? which : which.substr(dash + 1),
                                    pattern.last);
    if (!fine || pattern.first > pattern.last) {
      return fail(Status::kInvalidArgument,
                  fmt::format("kernel '{}': expected GLOB, GLOB#N or GLOB#N-M", text));
    }
  }
  if (pattern.glob.empty()) {
    return fail(Status::kInvalidArgument,
                fmt::format("kernel '{}': the glob is empty; '*' matches every kernel", text));
  }
  return pattern;
}

uint64_t LaunchSelection::matching(const std::string& symbol) {
  uint64_t mask = 0;
  for (size_t i = 0; i < std::min(patterns_.size(), kMostPatterns); ++i) {
    if (matches_kernel(patterns_[i].glob, symbol, demangle_trusted(symbol)))
      mask |= uint64_t{1} << i;
  }
  if (mask == 0 && !patterns_.empty() && others_.size() < kMostShown) {
    constexpr size_t kMostName = 60;
    std::string name = short_function_name(demangle_trusted(symbol), kMostName);
    if (std::ranges::find(others_, name) == others_.end()) others_.push_back(std::move(name));
  }
  return mask;
}

std::vector<LaunchSelection::Missed> LaunchSelection::missed(uint64_t launches) const {
  std::vector<Missed> lines;
  for (const LaunchInterval& one : intervals_) {
    if (launches <= one.first) {
      lines.push_back({"--launches",
                       fmt::format("'{}' was never entered: the program made {}", one.text,
                                   counted(launches, "launch")),
                       true});
    } else if (one.end != UINT64_MAX && launches < one.end) {
      lines.push_back({"--launches",
                       fmt::format("'{}' ended with the program, which made {}", one.text,
                                   counted(launches, "launch")),
                       false});
    }
  }
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const KernelPattern& pattern = patterns_[i];
    if (matched_[i] == 0) {
      lines.push_back({"--kernel",
                       fmt::format("'{}' matched no launch; the program made {}{}", pattern.text,
                                   counted(launches, "launch"),
                                   others_.empty() ? "" : ", of " + shown_names(others_, 0)),
                       true});
    } else if (matched_[i] <= pattern.first ||
               (pattern.last != UINT64_MAX && matched_[i] <= pattern.last)) {
      lines.push_back({"--kernel",
                       fmt::format("'{}' matched {}", pattern.text, counted(matched_[i], "launch")),
                       matched_[i] <= pattern.first});
    }
  }
  return lines;
}

}  // namespace gfxgraph::recorder
