// Selects the launches of the program that are recorded: gfxgraph-record --launches and --kernel.
// Pure. A launch counts once its call has returned with success, a graph launch with its kernel
// nodes: the numbers are those of the launches in a trace of the whole program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/suggestion.h"
#include "base/result.h"
#include "recorder/handle.h"

namespace gfxgraph::recorder {

// A kernel of a call that launches several.
struct ListedKernel {
  Handle function = nullptr;
  uint64_t mask = 0;  // as LaunchTurn::mask; set by launch_begins()
};

// A call that launches a kernel, several, or a graph.
struct LaunchCall {
  Handle function = nullptr;  // of a kernel: a host stub or a hipFunction_t
  bool host_function = false;
  Handle executable = nullptr;  // of a graph
  Handle stream = nullptr;
  bool never_captured = false;  // as Work::never_captured
  bool cooperative = false;
  std::vector<ListedKernel>* list = nullptr;  // of several kernels: all of them
};

// One of them from launch_begins() to launch_ended(), if launches are counted.
struct LaunchTurn {
  bool counts = false;     // it executes
  bool looked_at = false;  // with the lock
  bool selected = false;   // keeps the recorded section open
  bool recorded = false;
  uint64_t mask = 0;  // of a kernel: the patterns that it matches
};

// N:M, N: or :M: the launches from the N-th to the one before the M-th, counted from 0.
struct LaunchInterval {
  std::string text;  // as given
  uint64_t first = 0;
  uint64_t end = UINT64_MAX;
};

// kInvalidArgument: the message has the reason.
Result<LaunchInterval> parse_launch_interval(std::string_view text);

// GLOB, GLOB#N or GLOB#N-M: all launches of the kernels that match, or the N-th to the M-th of
// them. `*`: any characters, `?`: one. What stands behind a '#' belongs to the glob unless it
// begins with a digit and has no other characters than digits and '-': "*::{lambda()#1}::*".
struct KernelPattern {
  std::string text;  // as given
  std::string glob;
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;
};
Result<KernelPattern> parse_kernel_pattern(std::string_view text);

class LaunchSelection {
 public:
  static constexpr size_t kMostPatterns = 64;  // one bit each in a mask

  LaunchSelection() = default;
  LaunchSelection(std::vector<LaunchInterval> intervals, std::vector<KernelPattern> patterns)
      : intervals_(std::move(intervals)),
        patterns_(std::move(patterns)),
        matched_(patterns_.size()) {}

  bool empty() const noexcept { return intervals_.empty() && patterns_.empty(); }
  const std::vector<KernelPattern>& patterns() const noexcept { return patterns_; }
  // Whether one of the launches `number` to `number + count - 1` is in an interval. Any thread.
  bool in_interval(uint64_t number, uint64_t count = 1) const noexcept {
    for (const LaunchInterval& one : intervals_) {
      if (number < one.end && number + count > one.first && count != 0) return true;
    }
    return false;
  }

  // The rest needs a lock. The patterns that a kernel matches, as a mask.
  uint64_t matching(const std::string& symbol);
  // Whether the next `count` launches that match pattern `index` have one
  // that it selects.
  bool next_selected(size_t index, uint64_t count = 1) const noexcept {
    const KernelPattern& pattern = patterns_[index];
    return count != 0 && matched_[index] + count > pattern.first && matched_[index] <= pattern.last;
  }
  void count(size_t index, uint64_t count = 1) noexcept { matched_[index] += count; }

  // Selections that a program with this many launches did not satisfy completely.
  struct Missed {
    const char* option = "";
    std::string text;
    bool all = false;  // nothing was selected
  };
  std::vector<Missed> missed(uint64_t launches) const;

 private:
  std::vector<LaunchInterval> intervals_;
  std::vector<KernelPattern> patterns_;
  std::vector<uint64_t> matched_;    // launches, by pattern
  std::vector<std::string> others_;  // the first kernels that match none
};

}  // namespace gfxgraph::recorder
