// Which way of a bucket is the fastest, by the times of its first runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "replayer/production/measure/way_order.h"

namespace gfxgraph::replayer {

// Under the bucket's lock, but for state() and figures().
class Choice {
 public:
  static constexpr uint32_t kRuns = 9;

  // GFXGRAPH_CHOICE_...
  uint32_t state() const { return state_.load(std::memory_order_acquire); }
  bool is_open() const { return state() == GFXGRAPH_CHOICE_OPEN; }
  // Medians; zero until the choice is made. Any thread.
  gfxgraph_way_figures_t figures(uint32_t way) const;

  // The next runs are measured, `runs` of each way.
  void open(uint32_t runs);
  // Allocates all that the measurement needs.
  void reserve(const WayOrder& order);
  // The way whose turn it is: it has the fewest runs, in flight or measured. GFXGRAPH_WAY_WORK:
  // all of them have enough.
  uint32_t turn(const WayOrder& order) const;
  void begun(uint32_t way) noexcept { ++begun_[way]; }
  // A begun run ended without times.
  void lost(uint32_t way) noexcept { --begun_[way]; }
  // One ended, in nanoseconds. The first of a way does not count.
  void ended(uint32_t way, uint64_t submit, uint64_t end_to_end);
  bool is_complete(const WayOrder& order) const;
  // Puts the fastest in front; the figures and the choice as a text.
  std::string choose(WayOrder& order);
  void made() { state_ = GFXGRAPH_CHOICE_MADE; }
  // Forgets everything.
  void close() noexcept;

 private:
  struct Times {
    std::vector<double> submit, end_to_end, cost;  // microseconds
  };
  struct Published {
    std::atomic<uint64_t> runs{0};
    std::atomic<double> submit{0}, end_to_end{0};
  };

  std::atomic<uint32_t> state_ = GFXGRAPH_CHOICE_NONE;
  uint32_t runs_ = 0;
  std::array<uint32_t, GFXGRAPH_WAYS> begun_{};
  std::array<bool, GFXGRAPH_WAYS> warm_{};
  std::array<Times, GFXGRAPH_WAYS> times_;
  std::array<Published, GFXGRAPH_WAYS> published_;
};

}  // namespace gfxgraph::replayer
