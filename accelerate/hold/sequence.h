// A sequence of launches that came again: how it is submitted, and what that was measured by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accelerate/hold/graphs.h"
#include "accelerate/hold/launch.h"

namespace gfxgraph::accelerate {

// Times of a few runs in microseconds.
class Samples {
 public:
  static constexpr size_t kCount = 8;
  void add(uint64_t ns) noexcept {
    if (count_ < kCount) us_[count_++] = static_cast<double>(ns) / 1000.0;
  }
  bool full() const noexcept { return count_ == kCount; }
  size_t count() const noexcept { return count_; }
  void clear() noexcept { count_ = 0; }
  double median() const;

 private:
  std::array<double, kCount> us_{};
  size_t count_ = 0;
};

// One way's times: until the last call has returned, and until the wait that followed has.
struct Times {
  Samples host;
  Samples end;
  void clear() noexcept {
    host.clear();
    end.clear();
  }
};

enum class Phase : uint8_t {
  kWatched,  // measured as the program's own calls
  kTried,    // measured as a graph
  kGraph,    // held and submitted as a graph
  kCalls,    // for good: not held
};

struct Sequence {
  uint32_t number = 0;
  Launches launches;  // with the values of what is held, where these change
  Phase phase = Phase::kWatched;
  Times calls;
  Times graph;
  std::vector<Graph*> graphs;  // several if values change
  std::string reason;          // of the phase
  bool ended_early = false;    // why it is not held any more
  bool refused = false;        // the same: its arguments change; a part of it may be held
  // Counted since the process began.
  uint64_t held = 0;       // launches that returned before they were submitted
  uint64_t submits = 0;    // as a graph
  uint64_t early = 0;      // ended before they were whole: launches were submitted one by one
  uint64_t overdue = 0;    // of these, by the bound
  uint64_t busy = 0;       // whole, but its graphs all ran: submitted one by one
  uint64_t updates = 0;    // nodes that were given other values
  double submit_us = 0.0;  // in submissions as a graph
  // Counted since the phase began.
  uint32_t begun = 0;
  uint32_t whole = 0;
  uint32_t behind = 0;  // as `busy`

  bool active() const noexcept { return phase != Phase::kCalls; }
  void enter(Phase next) noexcept {
    phase = next;
    begun = whole = behind = 0;
  }
};

// Whether the graph is worth it, by the times of both, and why.
struct Choice {
  bool graph = false;
  std::string reason;
};
Choice choose(const Sequence& sequence);

}  // namespace gfxgraph::accelerate
