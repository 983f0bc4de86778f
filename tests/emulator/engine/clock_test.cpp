// The device clock (emulator/engine/clock.h): deterministic, rising over waves and launches;
// s_sleep lets it pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "emulator/engine/clock.h"
#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using testing::Shape;
using testing::TestDevice;
using Clock = unsigned long long;

constexpr uint32_t kStamps = 5;

constexpr Shape shape(uint32_t groups, uint16_t items) {
  return {.grid = {groups * items, 1, 1}, .block = {items, 1, 1}};
}

class ClockTest : public ::testing::TestWithParam<unsigned> {
 protected:
  static EngineOptions options(unsigned threads, uint32_t slice = 0) {
    EngineOptions made;
    made.threads = threads;
    made.time_slice = slice;
    return made;
  }
  static std::unique_ptr<TestDevice> device(const EngineOptions& options) {
    auto made = std::make_unique<TestDevice>(options);
    EXPECT_EQ(made->load(GFXGRAPH_KERNEL_DIR "/clock.co"), "");
    return made;
  }
  // What two launches of `groups` workgroups of 128 items read.
  static std::vector<Clock> stamps(const EngineOptions& options, uint32_t groups) {
    const auto d = device(options);
    const size_t words = size_t{groups} * 4 * kStamps;
    auto* out = d->array<Clock>(words * 2);
    for (int n = 0; n < 2; ++n) {
      const auto result = d->launch("stamps", shape(groups, 128), out + words * n, 50u);
      EXPECT_TRUE(result) << result.error().to_string();
    }
    return {out, out + words * 2};
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, ClockTest, ::testing::Values(1u, 3u));

TEST_P(ClockTest, IsTheSameWithAnyThreadsAndTimeSlices) {
  const std::vector<Clock> expected = stamps(options(1), 200);
  EXPECT_EQ(stamps(options(GetParam()), 200), expected);
  EXPECT_EQ(stamps(options(GetParam(), 7), 200), expected);
  EXPECT_EQ(stamps(options(GetParam(), 4000), 200), expected);
}

TEST_P(ClockTest, RisesInAWaveOverWavesAndLaunches) {
  constexpr uint32_t kGroups = 60;
  const std::vector<Clock> read = stamps(options(GetParam()), kGroups);
  const size_t waves = read.size() / kStamps / 2;
  Clock last = 0;
  for (size_t w = 0; w < waves; ++w) {
    const Clock* const s = &read[w * kStamps];
    if (w != 0) {
      EXPECT_GT(s[0], read[(w - 1) * kStamps]) << "a later wave begins later";
    }
    // The loop of a later wave is longer; all leave the barrier together.
    EXPECT_GT(s[1] - s[0], 50 * 3 * (w % 4 + 1));
    EXPECT_GT(s[2], read[(w / 4 * 4 + 3) * kStamps + 1]) << "not before the last one came";
    EXPECT_EQ(s[2], read[w / 4 * 4 * kStamps + 2]);
    last = std::max(last, s[2]);
    const Clock at = wall_clock(s[2] + kClocksOfRead);
    EXPECT_GE(s[3], at);
    EXPECT_LE(s[3], at + 16);
  }
  EXPECT_GT(read[waves * kStamps], last) << "a later launch reads later values";
}

TEST_P(ClockTest, SleepLetsItPass) {
  const auto d = device(options(GetParam()));
  auto* out = d->array<Clock>(8);
  ASSERT_TRUE(d->launch("delay_asleep", shape(8, 64), out, Clock{100000}));
  for (int n = 0; n < 8; ++n) {  // of 640 clocks, a read of 40 and some instructions
    EXPECT_GE(out[n], 140u);
    EXPECT_LE(out[n], 147u);
  }
  // A second of the device's; in instructions a little of that.
  const auto second = d->launch("delay_by_wall_clock", shape(1, 32), out, Clock{kWallClockHz});
  ASSERT_TRUE(second);
  EXPECT_NEAR(static_cast<double>(out[0]), static_cast<double>(kShaderClockHz), 2000.0);
  EXPECT_LT(second->wave_instructions, kShaderClockHz / 50);
  auto* cycles = d->array<unsigned>(1);
  ASSERT_TRUE(d->launch("delay_by_cycles", shape(1, 32), cycles));
  EXPECT_GT(cycles[0], 60u);
  EXPECT_LT(cycles[0], 80u);
}

TEST_P(ClockTest, ReadsLetItPass) {
  const auto d = device(options(GetParam()));
  auto* out = d->array<Clock>(1);
  ASSERT_TRUE(d->launch("delay_awake", shape(1, 32), out, Clock{100000}));
  EXPECT_GT(out[0], 1500u);
  EXPECT_LT(out[0], 2500u);
}

TEST_P(ClockTest, WaitsByItEndAndReadsWithoutEndAreEnded) {
  const auto d = device(options(GetParam()));
  auto* out = d->array<Clock>(1);
  const auto long_wait = d->launch("delay_by_high_half", shape(1, 32), out);
  ASSERT_TRUE(long_wait) << long_wait.error().to_string();
  EXPECT_EQ(out[0], 1u);
  EngineOptions limited = options(GetParam());
  limited.livelock_instructions = 100000;
  const auto other = device(limited);
  const auto vain =
      other->launch("never", shape(2, 32), other->array<unsigned>(1), other->array<Clock>(1));
  ASSERT_FALSE(vain);
  EXPECT_EQ(vain.error().kind, FaultKind::kDeadlock);
}

TEST_P(ClockTest, KernelsOfTheRuntimeTakeNoTime) {
  const auto d = device(options(GetParam()));
  const uint64_t begin = d->engine().clock();
  EXPECT_NE(begin, 0u);
  auto* out = d->array<Clock>(1);
  const codeobj::Kernel* const kernel = d->code().find_kernel("delay_asleep");
  ASSERT_NE(kernel, nullptr);
  Dispatch dispatch =
      d->dispatch(*kernel, shape(1, 32), d->pack(*kernel, shape(1, 32), out, Clock{5000}));
  dispatch.keeps_clock = true;
  ASSERT_TRUE(d->engine().run(dispatch));
  EXPECT_EQ(d->engine().clock(), begin);
  dispatch.keeps_clock = false;
  ASSERT_TRUE(d->engine().run(dispatch));
  EXPECT_GT(d->engine().clock(), begin + 5000);
}

}  // namespace
}  // namespace gfxgraph::emulator
