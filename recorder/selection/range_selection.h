// Selects the ranges of the program that are recorded: gfxgraph-record --range. Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/suggestion.h"
#include "base/result.h"

namespace gfxgraph::recorder {

// NAME, NAME#N or NAME#N-M: all ranges of that name, the N-th, the N-th to the M-th; counted from
// 0.
struct RangePattern {
  std::string text;  // as given
  std::string name;
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;
};

// kInvalidArgument: the message has the reason. A name that ends like a number needs one: "layer#2"
// is the third range "layer"; "layer#2#0-9" the first ten that are called "layer#2".
Result<RangePattern> parse_range_pattern(std::string_view text);

class RangeSelection {
 public:
  RangeSelection() = default;
  // `more`: sections are also selected in other ways (launch_selection.h).
  explicit RangeSelection(std::vector<RangePattern> patterns, bool more = false)
      : patterns_(std::move(patterns)), more_(more), hits_(patterns_.size()) {}

  // Nothing is selected: the whole program is recorded.
  bool empty() const noexcept { return patterns_.empty() && !more_; }
  // The `ordinal`-th range of a name begins. Whether it is to be recorded.
  bool begins(const std::string& name, uint64_t ordinal);
  // Patterns that did not select all requested ranges.
  struct Missed {
    std::string text;
    bool all = false;  // nothing was selected
  };
  std::vector<Missed> missed() const;

 private:
  std::vector<RangePattern> patterns_;
  bool more_ = false;
  std::vector<uint64_t> hits_;              // by pattern
  std::map<std::string, uint64_t> counts_;  // ranges that began, of names that patterns have
  std::vector<std::string> others_;         // the first other names
};

}  // namespace gfxgraph::recorder
