// tools/diff/align.h against a table of longest common subsequences.
#include "tools/diff/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gfxgraph::tools {
namespace {

using Sequence = std::vector<uint32_t>;

size_t longest(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1
                                         : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table[a.size()][b.size()];
}

void expect_valid(const Sequence& a, const Sequence& b, const Alignment& aligned) {
  for (size_t i = 0; i < aligned.pairs.size(); ++i) {
    const auto [x, y] = aligned.pairs[i];
    ASSERT_LT(x, a.size());
    ASSERT_LT(y, b.size());
    EXPECT_EQ(a[x], b[y]);
    if (i == 0) continue;
    EXPECT_LT(aligned.pairs[i - 1].first, x);
    EXPECT_LT(aligned.pairs[i - 1].second, y);
  }
}

TEST(Align, FindsALongestCommonSubsequence) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (int round = 0; round < 3000; ++round) {
    const uint32_t letters = 1 + below(5);
    Sequence a(below(25));
    for (uint32_t& letter : a) letter = below(letters);
    Sequence b(below(25));
    for (uint32_t& letter : b) letter = below(letters);
    const Alignment aligned = align(a, b);
    EXPECT_FALSE(aligned.given_up);
    expect_valid(a, b, aligned);
    EXPECT_EQ(aligned.pairs.size(), longest(a, b));
  }
}

TEST(Align, FindsWhatWasTakenOutAndPutIn) {
  const Sequence a = {7, 1, 2, 3, 4, 5, 9};
  const Sequence b = {7, 1, 3, 4, 8, 8, 5, 9};
  const std::vector<std::pair<size_t, size_t>> expected = {{0, 0}, {1, 1}, {3, 2},
                                                           {4, 3}, {5, 6}, {6, 7}};
  EXPECT_EQ(align(a, b).pairs, expected);
}

TEST(Align, KeepsBothEndsWhereItGivesUp) {
  Sequence a(2000, 1);
  Sequence b(2000, 2);
  a.front() = b.front() = 3;
  a.back() = b.back() = 4;
  const Alignment aligned = align(a, b, 100);
  EXPECT_TRUE(aligned.given_up);
  const std::vector<std::pair<size_t, size_t>> expected = {{0, 0}, {1999, 1999}};
  EXPECT_EQ(aligned.pairs, expected);
}

TEST(Align, TakesSequencesOfNothing) {
  const Sequence a = {1, 2};
  EXPECT_TRUE(align({}, {}).pairs.empty());
  EXPECT_TRUE(align(a, {}).pairs.empty());
  EXPECT_TRUE(align({}, a).pairs.empty());
  EXPECT_EQ(align(a, a).pairs.size(), 2u);
}

}  // namespace
}  // namespace gfxgraph::tools
