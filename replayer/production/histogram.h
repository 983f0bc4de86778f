// Durations in nanoseconds, counted in ranges whose width grows with them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace gfxgraph::replayer {

// Each power of two has kParts ranges: a range is at most 1/kParts as wide as its durations.
class DurationRanges {
 public:
  static constexpr uint32_t kParts = 16;
  static constexpr uint32_t kLargestPower = 40;  // longer ones, from 37 minutes on, count as that
  static constexpr size_t kCount = (kLargestPower - 2) * kParts;

  static constexpr size_t of(uint64_t nanoseconds) {
    if (nanoseconds < kParts) return nanoseconds;
    const uint64_t known = std::min(nanoseconds, (uint64_t{2} << kLargestPower) - 1);
    const auto power = static_cast<uint32_t>(std::bit_width(known)) - 1;
    return (power - 3) * kParts + ((known >> (power - 4)) & (kParts - 1));
  }
  // The longest duration of a range.
  static constexpr uint64_t longest(size_t range) {
    if (range < kParts) return range;
    const uint64_t power = range / kParts + 3;
    return ((kParts + range % kParts + 1) << (power - 4)) - 1;
  }
};

// Any thread adds and reads, without locks or allocations.
class Histogram {
 public:
  // The caller keeps other writers away.
  void add_alone(uint64_t nanoseconds) noexcept {
    const auto add = [](std::atomic<uint64_t>& one, uint64_t more) {
      one.store(one.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    };
    add(counts_[DurationRanges::of(nanoseconds)], 1);
    add(sum_, nanoseconds);
    if (nanoseconds > most_.load(std::memory_order_relaxed))
      most_.store(nanoseconds, std::memory_order_relaxed);
  }
  void add(uint64_t nanoseconds) noexcept {
    counts_[DurationRanges::of(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(nanoseconds, std::memory_order_relaxed);
    uint64_t most = most_.load(std::memory_order_relaxed);
    while (nanoseconds > most &&
           !most_.compare_exchange_weak(most, nanoseconds, std::memory_order_relaxed)) {
    }
  }

 private:
  friend class Durations;
  std::array<std::atomic<uint64_t>, DurationRanges::kCount> counts_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> most_{0};
};

// What histograms held at one time, together.
class Durations {
 public:
  void add(const Histogram& histogram) noexcept {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const uint64_t found = histogram.counts_[i].load(std::memory_order_relaxed);
      counts_[i] += found;
      count_ += found;
    }
    sum_ += histogram.sum_.load(std::memory_order_relaxed);
    most_ = std::max(most_, histogram.most_.load(std::memory_order_relaxed));
  }

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }    // nanoseconds
  uint64_t most() const { return most_; }  // nanoseconds
  // The duration that `share` of them, from 0 to 1, do not exceed, rounded up to the end of its
  // range; 0: there are none.
  uint64_t percentile(double share) const {
    const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
    uint64_t passed = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      passed += counts_[i];
      if (passed != 0 && passed >= wanted) return std::min(DurationRanges::longest(i), most_);
    }
    return most_;
  }

 private:
  std::array<uint64_t, DurationRanges::kCount> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t most_ = 0;
};

}  // namespace gfxgraph::replayer
