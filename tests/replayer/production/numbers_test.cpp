#include "replayer/production/numbers.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "gfxgraph/production.h"

namespace gfxgraph::replayer {
namespace {

template <typename Number>
bool equal(uint32_t type, double tolerance, Number a, Number b) {
  // Behind one that is equal.
  const std::array<Number, 2> left = {Number{}, a}, right = {Number{}, b};
  return are_equal(type, tolerance, std::as_bytes(std::span(left)),
                   std::as_bytes(std::span(right)));
}

TEST(Numbers, BytesAreEqualOrNot) {
  EXPECT_TRUE(equal<uint8_t>(GFXGRAPH_TYPE_BYTES, 0, 5, 5));
  EXPECT_FALSE(equal<uint8_t>(GFXGRAPH_TYPE_BYTES, 0, 5, 6));
}

TEST(Numbers, FloatsAreNearByTheirSizeOrByOne) {
  EXPECT_TRUE(equal(GFXGRAPH_TYPE_F32, 0.01, 1000.0F, 1009.0F));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0.01, 1000.0F, 1011.0F));
  EXPECT_TRUE(equal(GFXGRAPH_TYPE_F32, 0.01, 0.0F, 0.009F));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0.01, 0.0F, 0.011F));
  EXPECT_TRUE(equal(GFXGRAPH_TYPE_F64, 1e-12, 1.0, 1.0 + 1e-13));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F64, 1e-12, 1.0, 1.0 + 1e-11));
}

TEST(Numbers, WithoutToleranceEqualNumbersAreEqual) {
  EXPECT_TRUE(equal(GFXGRAPH_TYPE_F32, 0, 0.0F, -0.0F));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0, 1.0F, std::nextafter(1.0F, 2.0F)));
}

TEST(Numbers, NanIsEqualToNanAndInfinityToItself) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(equal(GFXGRAPH_TYPE_F32, 0, std::bit_cast<float>(0x7fc00001u), NAN));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 1e9, NAN, 1.0F));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 1e9, 1.0F, NAN));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0.5, 1.0F, kInfinity));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0.5, kInfinity, 1.0F));
  EXPECT_FALSE(equal(GFXGRAPH_TYPE_F32, 0.5, -kInfinity, kInfinity));
}

struct Half {
  uint16_t bits;
  double value;
};

// By the tolerance that a number needs to be equal to one, or to zero.
TEST(Numbers, HalvesHaveTheirValues) {
  constexpr Half kHalves[] = {{0x3c00, 1},
                              {0xbc00, -1},
                              {0x7bff, 65504},
                              {0x0001, 0x1p-24},
                              {0x03ff, 1023 * 0x1p-24},
                              {0x0400, 0x1p-14},
                              {0x3555, 0.333251953125}};
  for (const Half& half : kHalves) {
    const double distance = std::abs(half.value - 1);
    if (distance > 0) {
      EXPECT_FALSE(equal<uint16_t>(GFXGRAPH_TYPE_F16, distance * (1 - 1e-9), half.bits, 0x3c00))
          << half.bits;
    }
    EXPECT_TRUE(equal<uint16_t>(GFXGRAPH_TYPE_F16, distance, half.bits, 0x3c00)) << half.bits;
  }
  EXPECT_TRUE(equal<uint16_t>(GFXGRAPH_TYPE_F16, 0, 0x7e00, 0x7e01)) << "not numbers";
  EXPECT_FALSE(equal<uint16_t>(GFXGRAPH_TYPE_F16, 1, 0x7c00, 0xfc00)) << "infinities";
}

TEST(Numbers, BrainFloatsHaveTheirValues) {
  EXPECT_TRUE(equal<uint16_t>(GFXGRAPH_TYPE_BF16, 2, 0x4040, 0x3f80));  // 3 and 1
  EXPECT_FALSE(equal<uint16_t>(GFXGRAPH_TYPE_BF16, 1.99, 0x4040, 0x3f80));
}

TEST(Numbers, UnknownTypesHaveNoBytes) {
  EXPECT_EQ(number_bytes(GFXGRAPH_TYPES), 0u);
  EXPECT_EQ(number_bytes(GFXGRAPH_TYPE_BF16), 2u);
}

}  // namespace
}  // namespace gfxgraph::replayer
