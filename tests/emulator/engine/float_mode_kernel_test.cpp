// Whole kernels in other float modes: by their descriptor, and by changing MODE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

#include "tests/emulator/test_device.h"

namespace gfxgraph::emulator {
namespace {

using testing::Shape;
using testing::TestDevice;

constexpr int kItems = 256;
constexpr Shape kShape = {.grid = {kItems, 1, 1}, .block = {64, 1, 1}};

// flush or keep, and the wave size.
class FloatModeKernels : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(device_.load(std::string(GFXGRAPH_KERNEL_DIR "/modes_") + GetParam() + ".co"), "");
    a_ = device_.array<float>(kItems);
    b_ = device_.array<float>(kItems);
    static const float values[] = {
        1.0f,      -3.0f,    0x1p-126f,       0x1.8p-127f, -0x1p-149f,
        0x1p-100f, 0x1p100f, 0x1.fffffep127f, 0.1f,        -0x1.23456p-64f,
        0x1p-63f,  7e-30f,   3e-39f,          0.0f,        -0.0f,
        12345.678f};
    for (int k = 0; k < kItems; ++k) {
      a_[k] = values[k % 16];
      b_[k] = values[k / 16];
    }
  }
  bool flushes() const { return std::strncmp(GetParam(), "flush", 5) == 0; }
  float kept(float v) const {
    return flushes() && std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
  }
  template <typename... Args>
  void launch(const std::string& kernel, Args... args) {
    const auto result = device_.launch(kernel, kShape, args...);
    ASSERT_TRUE(result) << result.error().to_string();
  }
  static void expect_equal(float expected, float got, int item) {
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << item;
      return;
    }
    EXPECT_EQ(expected, got) << item;
    EXPECT_EQ(std::signbit(expected), std::signbit(got)) << item;
  }
  TestDevice device_;
  float* a_ = nullptr;
  float* b_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Modes, FloatModeKernels,
                         ::testing::Values("flush_32", "flush_64", "keep_32", "keep_64"),
                         [](const auto& i) { return i.param; });

TEST_P(FloatModeKernels, DenormalsAreFlushedOrKept) {
  auto* out = device_.array<float>(4 * kItems);
  launch("arithmetic", a_, b_, out);
  for (int k = 0; k < kItems; ++k) {
    const float x = kept(a_[k]), y = kept(b_[k]);
    expect_equal(kept(x * y), out[4 * k], k);
    expect_equal(kept(x + y), out[4 * k + 1], k);
    expect_equal(kept(x / y), out[4 * k + 2], k);
    expect_equal(x < y ? 1.0f : 2.0f, out[4 * k + 3], k);
  }
}

TEST_P(FloatModeKernels, DoublesKeepTheirDenormals) {
  auto* a = device_.array<double>(kItems);
  auto* b = device_.array<double>(kItems);
  auto* out = device_.array<double>(2 * kItems);
  for (int k = 0; k < kItems; ++k) {
    a[k] = std::ldexp(1.0 + k, -1060);
    b[k] = 0.75 + k;
  }
  launch("doubles", a, b, out);
  for (int k = 0; k < kItems; ++k) {
    EXPECT_EQ(out[2 * k], a[k] * b[k]);
    EXPECT_EQ(out[2 * k + 1], a[k] / b[k]);
  }
}

TEST_P(FloatModeKernels, RoundingChangesWhileTheWaveRuns) {
  auto* out = device_.array<float>(7 * kItems);
  launch("directions", a_, b_, out);
  for (int k = 0; k < kItems; ++k) {
    const volatile float x = kept(a_[k]), y = kept(b_[k]);
    const int directions[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST, FE_UPWARD};
    for (int n = 0; n < 5; ++n) {
      std::fesetround(directions[n]);
      const volatile float sum = x + y;
      std::fesetround(FE_TONEAREST);
      expect_equal(kept(sum), out[7 * k + n], k);
    }
    uint32_t mode;
    std::memcpy(&mode, &out[7 * k + 5], 4);
    EXPECT_EQ(mode, flushes() ? 0x3c1u : 0x3f1u);
    const volatile float sum = x + y;
    expect_equal(kept(sum), out[7 * k + 6], k);
  }
}

TEST_P(FloatModeKernels, OneLoopInTwoModes) {
  auto* out = device_.array<float>(kItems);
  for (int k = 0; k < kItems; ++k) a_[k] = 0x1p24f + static_cast<float>(2 * k);
  launch("alternating", a_, out, 5);
  // Upwards each half makes a step of 2, to nearest none.
  for (int k = 0; k < kItems; ++k) EXPECT_EQ(out[k], a_[k] + 10.0f);
}

TEST_P(FloatModeKernels, LdsSumsFollowTheMode) {
  auto* out = device_.array<float>(64);
  const Shape one = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
  for (int k = 0; k < 64; ++k) a_[k] = std::ldexp(1.0f, -149 + k);
  const auto result = device_.launch("lds_sum", one, a_, out);
  ASSERT_TRUE(result) << result.error().to_string();
  for (int k = 0; k < 64; ++k) EXPECT_EQ(out[k], kept(kept(0x1p-149f) + kept(a_[k]))) << k;
}

TEST_P(FloatModeKernels, OtherBitsOfModeAreRefused) {
  auto* out = device_.array<float>(kItems);
  const auto result = device_.launch("exceptions", kShape, out);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().to_string(), ::testing::HasSubstr("a change of MODE other than"));
}

// A host program may run with flushed denormals or another rounding: kernels do not see it.
TEST_P(FloatModeKernels, TheHostsOwnModeDoesNotMatter) {
  auto* out = device_.array<float>(4 * kItems);
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0xffc0);  // flush all, round toward zero
  launch("arithmetic", a_, b_, out);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(after & 0xffc0u, 0xffc0u);
  for (int k = 0; k < kItems; ++k) {
    const float x = kept(a_[k]), y = kept(b_[k]);
    expect_equal(kept(x * y), out[4 * k], k);
    expect_equal(kept(x / y), out[4 * k + 2], k);
  }
}

}  // namespace
}  // namespace gfxgraph::emulator
