#include "format/ranges/parameter_pattern.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace gfxgraph::ranges {
namespace {

PatternMatch match(std::initializer_list<int64_t> numbers, unsigned size_bytes = 8,
                   MemoryKey memory = 0) {
  std::vector<ParameterValue> values;
  for (const int64_t number : numbers) values.push_back({memory, number});
  return match_pattern(values, size_bytes);
}

void expect_step(const PatternMatch& found, int64_t step) {
  EXPECT_EQ(found.pattern, Pattern::kStep);
  EXPECT_EQ(found.step, step);
}

void expect_swap(const PatternMatch& found, uint64_t period) {
  EXPECT_EQ(found.pattern, Pattern::kSwap);
  EXPECT_EQ(found.period, period);
}

TEST(ParameterPattern, Constant) {
  EXPECT_EQ(match({}).pattern, Pattern::kConstant);
  EXPECT_EQ(match({7}).pattern, Pattern::kConstant);
  EXPECT_EQ(match({7, 7, 7}).pattern, Pattern::kConstant);
}

TEST(ParameterPattern, StepsUpAndDown) {
  expect_step(match({5, 6, 7}), 1);
  expect_step(match({5, 3, 1, -1}), -2);
  expect_step(match({0, 1}), 1);
  EXPECT_EQ(match({0, 1, 3}).pattern, Pattern::kFree);
  EXPECT_EQ(match({0, 0, 1}).pattern, Pattern::kFree) << "the first difference is 0";
}

TEST(ParameterPattern, CountersOfTheirSizeWrap) {
  expect_step(match({INT32_MAX - 1, INT32_MAX, INT32_MIN}, 4), 1);
  EXPECT_EQ(match({INT32_MAX - 1, INT32_MAX, INT32_MIN}, 8).pattern, Pattern::kFree);
  expect_step(match({INT64_MAX, INT64_MIN, INT64_MIN + 1}), 1);
  expect_step(match({254, 255, 0}, 1), 1);
}

TEST(ParameterPattern, SwapsAreSeenTwice) {
  expect_swap(match({1, 2, 1, 2}), 2);
  expect_swap(match({1, 2, 1, 2, 1}), 2);
  expect_swap(match({1, 2, 9, 1, 2, 9, 1}), 3);
  expect_swap(match({1, 1, 2, 1, 1, 2}), 3);
  EXPECT_EQ(match({1, 2, 1}).pattern, Pattern::kFree);
  EXPECT_EQ(match({1, 2, 9, 1, 2}).pattern, Pattern::kFree);
  EXPECT_EQ(match({1, 2, 1, 2, 2}).pattern, Pattern::kFree);
}

TEST(ParameterPattern, MemoryStepsInOneAllocationOnly) {
  expect_step(match({0, 64, 128}, 8, 3), 64);
  const std::vector<ParameterValue> two = {{3, 0}, {4, 0}};
  EXPECT_EQ(match_pattern(two, 8).pattern, Pattern::kFree);
  const std::vector<ParameterValue> moved = {{3, 0}, {4, 64}, {5, 128}};
  EXPECT_EQ(match_pattern(moved, 8).pattern, Pattern::kFree);
  const std::vector<ParameterValue> buffers = {{3, 0}, {4, 0}, {3, 0}, {4, 0}};
  expect_swap(match_pattern(buffers, 8), 2);
}

}  // namespace
}  // namespace gfxgraph::ranges
