// The recorded part of the program: all of it, or sections around selected ranges and launches.
// Does not know memory. The recorder's lock guards it, unless stated otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>

#include "format/trace.h"
#include "recorder/contract/options.h"
#include "recorder/selection/fresh_memory.h"
#include "recorder/selection/launch_selection.h"
#include "recorder/selection/range_selection.h"

namespace gfxgraph::recorder {

class Stretch {
 public:
  // `segments`: all of the program is recorded, as consecutive sections.
  Stretch(const Options& options, bool segments);
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

  // All of the program is recorded. Any thread.
  bool whole() const noexcept { return ranges_.empty(); }
  // Inside of a section; always, if everything is recorded.
  bool recording() const noexcept { return recording_; }
  void begin() noexcept;
  void end() noexcept;
  // The section is over, and ends at the next call of the program: if that begins another one, both
  // are one. Any thread.
  bool leaving() const noexcept { return leaving_.load(std::memory_order_acquire); }
  // Nothing selected is open any more. Immediately following work is recorded with it, such as the
  // next iteration of a loop, so that memory need not begin anew.
  void leave_if_over() noexcept;
  void stay() noexcept { leaving_.store(false, std::memory_order_relaxed); }

  // Changes when a section begins or ends. Any thread.
  uint64_t span() const noexcept { return span_.load(std::memory_order_acquire); }
  // This thread's call begins. Whether the section differs from that of its last call.
  bool call_begins() noexcept;
  // Whether this thread's call is not recorded: it began outside of the recorded section, or after
  // it.
  bool outside() const noexcept {
    if (whole()) return false;
    return !recording_ || span_of_call_ != span_.load(std::memory_order_relaxed);
  }

  // A range begins: how many of this name there were.
  uint32_t count_range(const std::string& name);
  // Whether it is to be recorded. If so, it keeps the section open until range_ends().
  bool range_begins(format::RangeId range, const std::string& name, uint32_t ordinal);
  void range_ends(format::RangeId range);

  // Any thread, but for LaunchSelection's own words.
  LaunchSelection& launch_selection() noexcept { return launch_selection_; }
  // Launches that returned, if some are selected. Any thread.
  uint64_t launches() const noexcept { return launches_.load(std::memory_order_relaxed); }
  // The number of the first of these.
  uint64_t count_launches(uint64_t count) noexcept {
    return launches_.fetch_add(count, std::memory_order_relaxed);
  }
  // A selected launch is in progress, and keeps the section open.
  void launch_begins() noexcept { ++selected_launches_; }
  void launch_ends() noexcept { --selected_launches_; }
  // A launch of an interval has begun, and more are to come.
  void in_interval(bool is) noexcept { in_interval_ = is; }

  std::vector<RangeSelection::Missed> missed_ranges() const { return ranges_.missed(); }
  std::vector<LaunchSelection::Missed> missed_launches() const {
    return launch_selection_.missed(launches());
  }

  FreshMemory& fresh() noexcept { return fresh_; }
  const FreshMemory& fresh() const noexcept { return fresh_; }

 private:
  // The stretch that this thread's call began in.
  static constinit inline thread_local uint64_t span_of_call_ = 0;

  RangeSelection ranges_;
  LaunchSelection launch_selection_;
  bool recording_ = true;
  std::atomic<bool> leaving_{false};
  std::atomic<uint64_t> span_{0};
  FreshMemory fresh_;
  std::set<format::RangeId> selected_;  // open ranges that are recorded
  std::unordered_map<std::string, uint32_t> range_counts_;
  std::atomic<uint64_t> launches_{0};
  size_t selected_launches_ = 0;  // under way
  bool in_interval_ = false;
};

}  // namespace gfxgraph::recorder
