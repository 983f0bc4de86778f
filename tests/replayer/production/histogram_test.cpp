#include "replayer/production/histogram.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace gfxgraph::replayer {
namespace {

TEST(DurationRanges, FollowEachOtherWithoutGaps) {
  for (size_t range = 0; range < DurationRanges::kCount; ++range) {
    EXPECT_EQ(DurationRanges::of(DurationRanges::longest(range)), range);
    if (range + 1 == DurationRanges::kCount) continue;
    EXPECT_EQ(DurationRanges::of(DurationRanges::longest(range) + 1), range + 1);
  }
}

TEST(DurationRanges, AreAtMostASixteenthWide) {
  for (size_t range = 1; range < DurationRanges::kCount; ++range) {
    const uint64_t shortest = DurationRanges::longest(range - 1) + 1;
    const uint64_t width = DurationRanges::longest(range) - shortest;
    EXPECT_LE(width * DurationRanges::kParts, shortest) << range;
  }
}

TEST(DurationRanges, TheLastOneHasAllThatIsLonger) {
  EXPECT_EQ(DurationRanges::of(UINT64_MAX), DurationRanges::kCount - 1);
  EXPECT_EQ(DurationRanges::of(uint64_t{1} << 50), DurationRanges::kCount - 1);
}

TEST(Histogram, PercentilesAreAtMostASixteenthAboveTheTrueOnes) {
  Histogram histogram;
  for (uint64_t i = 1; i <= 1000; ++i) histogram.add(i * 1000);
  Durations durations;
  durations.add(histogram);
  EXPECT_EQ(durations.count(), 1000u);
  EXPECT_EQ(durations.sum(), 500'500'000u);
  EXPECT_EQ(durations.most(), 1'000'000u);
  const auto near = [&](double share, uint64_t wanted) {
    const uint64_t got = durations.percentile(share);
    EXPECT_GE(got, wanted) << share;
    EXPECT_LE(got, wanted + wanted / 16) << share;
  };
  near(0.5, 500'000);
  near(0.9, 900'000);
  near(0.99, 990'000);
  EXPECT_EQ(durations.percentile(1), 1'000'000u);
}

TEST(Histogram, WithoutDurationsAllIsZero) {
  const Durations none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.percentile(0.99), 0u);
}

TEST(Histogram, SeveralAreOne) {
  Histogram fast, slow;
  for (int i = 0; i < 9; ++i) fast.add(10);
  slow.add(5'000'000);
  Durations both;
  both.add(fast);
  both.add(slow);
  EXPECT_EQ(both.count(), 10u);
  EXPECT_EQ(both.percentile(0.9), 10u);
  EXPECT_EQ(both.percentile(0.99), 5'000'000u);
}

TEST(Histogram, ThreadsAddToOne) {
  Histogram histogram;
  std::vector<std::thread> threads;
  for (uint64_t thread = 1; thread <= 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 1000; ++i) histogram.add(thread);
    });
  }
  for (std::thread& one : threads) one.join();
  Durations durations;
  durations.add(histogram);
  EXPECT_EQ(durations.count(), 8000u);
  EXPECT_EQ(durations.sum(), 36'000u);
  EXPECT_EQ(durations.percentile(0.5), 4u);
}

}  // namespace
}  // namespace gfxgraph::replayer
