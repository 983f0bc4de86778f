// Finds sequences of launches that come again: the same kernels with the same grids, most of them
// with the same arguments, too. Not thread-safe; throws std::bad_alloc.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "accelerate/hold/launch.h"

namespace gfxgraph::accelerate {

class Finder {
 public:
  // The longest sequence, and how many runs are compared with a new one. A run that alternates
  // between up to that many sets of arguments is found.
  static constexpr size_t kLongest = 512;
  static constexpr size_t kRuns = 8;

  explicit Finder(size_t shortest) noexcept : shortest_(shortest) {}

  // The run goes on. False: it is as long as runs may be, and must end.
  bool add(const Launch& launch, const Layout* layout) {
    run_.add(launch, layout);
    return run_.size() < kLongest;
  }
  bool running() const noexcept { return !run_.empty(); }
  void* stream() const noexcept { return run_[0].stream; }

  // The run ends: what follows is not of its sequence. The stretch that it has in common with an
  // earlier one, at the same place of both, or the period that it repeats if it has no end of its
  // own. Launches in it whose arguments were others may change (Launches::let_change): at most half
  // of them, and the stretch is the one with most launches that stay the same.
  std::optional<Launches> end();
  // Arguments that change are not found from now on.
  void only_equal() noexcept { only_equal_ = true; }
  // Nothing that was seen counts any more.
  void forget() noexcept;

 private:
  std::optional<Launches> period() const;
  std::optional<Launches> repeated(size_t period, bool exact) const;

  size_t shortest_;
  bool only_equal_ = false;
  Launches run_;
  std::deque<Launches> runs_;  // the newest in front
};

}  // namespace gfxgraph::accelerate
