// The host's time of a call.
#pragma once

#include <chrono>
#include <cstdint>

namespace gfxgraph::replayer {

class Stopwatch {
 public:
  uint64_t nanoseconds() const {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace gfxgraph::replayer
