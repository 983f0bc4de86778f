#include "format/ranges/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace gfxgraph::ranges {
namespace {

using Tokens = std::vector<uint32_t>;

// By the definition: for each period, the stretches in which tokens equal those a period later.
std::vector<Repeat> slowly(const Tokens& tokens, size_t times) {
  std::vector<Repeat> all;
  for (size_t period = 1; 2 * period <= tokens.size(); ++period) {
    for (size_t i = 0; i + period < tokens.size();) {
      size_t end = i;
      while (end + period < tokens.size() && tokens[end] == tokens[end + period]) ++end;
      const Repeat repeat{i, end + period, period};
      // A stretch of two periods, of which the smaller one divides the larger one.
      bool primitive = true;
      for (const Repeat& shorter : all) {
        primitive = primitive && !(period % shorter.period == 0 && shorter.begin <= i &&
                                   repeat.end <= shorter.end);
      }
      if (end - i >= (times - 1) * period && end != i && primitive) all.push_back(repeat);
      i = end + 1;
    }
  }
  std::ranges::sort(all, {}, [](const Repeat& one) { return std::pair(one.begin, one.period); });
  return all;
}

Tokens of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(Repeats, FewTokens) {
  EXPECT_TRUE(find_repeats({}, 2).empty());
  EXPECT_TRUE(find_repeats(of("a"), 2).empty());
  EXPECT_TRUE(find_repeats(of("ab"), 2).empty());
  EXPECT_EQ(find_repeats(of("aa"), 2), (std::vector<Repeat>{{0, 2, 1}}));
  EXPECT_EQ(find_repeats(of("xababy"), 2), (std::vector<Repeat>{{1, 5, 2}}));
}

TEST(Repeats, InnerAndOuterOnes) {
  // Three steps of three layers.
  EXPECT_EQ(find_repeats(of("eababaxeababaxeababax"), 3).size(), 1u);
  EXPECT_EQ(find_repeats(of("eabababxeabababxeabababx"), 3),
            (std::vector<Repeat>{{0, 24, 8}, {1, 7, 2}, {9, 15, 2}, {17, 23, 2}}));
}

TEST(Repeats, ThePeriodIsTheSmallest) {
  EXPECT_EQ(find_repeats(of("abababababab"), 3), (std::vector<Repeat>{{0, 12, 2}}));
  EXPECT_EQ(find_repeats(Tokens(1000, 7), 3), (std::vector<Repeat>{{0, 1000, 1}}));
}

TEST(Repeats, AllOfRandomSequences) {
  std::mt19937 random(20);
  for (int round = 0; round < 3000; ++round) {
    Tokens tokens(random() % 40);
    const auto letters = static_cast<uint32_t>(1 + random() % 4);
    for (uint32_t& token : tokens) token = static_cast<uint32_t>(random() % letters);
    for (const size_t times : {2, 3, 5}) {
      ASSERT_EQ(find_repeats(tokens, times), slowly(tokens, times))
          << ::testing::PrintToString(tokens);
    }
  }
}

TEST(Repeats, MillionsOfTokens) {
  Tokens nested;
  while (nested.size() < 1000000) {
    nested.push_back(1);
    for (uint32_t layer = 0; layer < 8; ++layer) {
      for (uint32_t n = 0; n < 13; ++n) nested.push_back(2 + n);
    }
    nested.push_back(20);
  }
  Tokens fibonacci = {0}, before = {1};
  while (fibonacci.size() < 1000000) {
    const Tokens sum = [&] {
      Tokens both = fibonacci;
      both.insert(both.end(), before.begin(), before.end());
      return both;
    }();
    before = std::exchange(fibonacci, sum);
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Repeat> steps = find_repeats(nested, 3);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0], (Repeat{0, nested.size(), 106}));
  EXPECT_FALSE(find_repeats(fibonacci, 3).empty());
  EXPECT_EQ(find_repeats(Tokens(1000000, 1), 3).size(), 1u);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 60) << "a second each is usual; this is no quadratic algorithm";
  RecordProperty("seconds", std::to_string(seconds.count()));
}

}  // namespace
}  // namespace gfxgraph::ranges
