// What gfxgraph-replay is at, on stderr where that is a terminal: one line that is written over.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "replayer/options.h"

namespace gfxgraph::replayer {

class ToolProgress {
 public:
  // Not `shown`: says nothing.
  explicit ToolProgress(bool shown) : shown_(shown) {}
  ~ToolProgress() { clear(); }
  ToolProgress(const ToolProgress&) = delete;
  ToolProgress& operator=(const ToolProgress&) = delete;

  // In place of what it said before; not more often than a reader can follow.
  void at(std::string_view text);
  // A line that stays.
  void found(std::string_view text);
  // Before anything else is printed.
  void clear();
  // Calls at() and found() of this object, which must outlive it; empty if nothing is shown.
  Progress listener();

 private:
  bool shown_;
  bool line_ = false;  // stands on the terminal
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace gfxgraph::replayer
