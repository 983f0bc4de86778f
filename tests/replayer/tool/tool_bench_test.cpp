#include "replayer/tool/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "test_trace.h"

namespace gfxgraph::replayer {
namespace {

TEST(Bench, EachVariantStandsAtEachPlaceEquallyOftenInBothDirections) {
  std::map<std::pair<size_t, size_t>, int> forward, backward;  // by place and variant
  for (size_t round = 0; round < 8; ++round) {
    const std::vector<size_t> order = bench_order(4, round);
    ASSERT_EQ(order.size(), 4u);
    for (size_t place = 0; place < 4; ++place)
      ++(is_reversed(round) ? backward : forward)[{place, order[place]}];
  }
  EXPECT_EQ(forward.size(), 16u);
  EXPECT_EQ(forward, backward);
  for (const auto& [place, count] : forward) EXPECT_EQ(count, 1);
}

TEST(Bench, AReversedRoundIsTheOneBeforeItBackwards) {
  EXPECT_EQ(bench_order(3, 2), (std::vector<size_t>{1, 2, 0}));
  EXPECT_EQ(bench_order(3, 3), (std::vector<size_t>{0, 2, 1}));
}

TEST(Bench, AGraphIsSavedByRunsThatTakeLessTime) {
  EXPECT_EQ(break_even(100, 10, 20), 10u);
  EXPECT_EQ(break_even(101, 10, 20), 11u);
  EXPECT_EQ(break_even(100, 20, 20), std::nullopt);
  EXPECT_EQ(break_even(100, 30, 20), std::nullopt);
}

TEST(Bench, AModeThatCannotRunIsNamedAndTheOthersAreMeasured) {
  testing::FakeHip fake;
  testing::TestTrace trace(fake);
  testing::add_test_kernels(fake);
  const auto words = trace.allocate_words({1, 2, 3, 4});
  trace.launch("double", testing::Arguments().value(trace.address(words)).value(4u));
  const auto program = trace.program();
  auto session = Session::load(program, fake.library(), {});
  ASSERT_TRUE(session) << session.error().message;
  BenchRequest request;
  request.rounds = 3;
  request.modes = {Mode::kPackets, Mode::kEager, Mode::kBatch};
  const Result<BenchFacts> facts = bench(*session, program, request);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->rounds, 3u);
  ASSERT_EQ(facts->variants.size(), 3u);
  EXPECT_THAT(facts->variants[0].refused, ::testing::HasSubstr("mode packets"));
  EXPECT_FALSE(facts->variants[0].timed());
  for (size_t n = 1; n < 3; ++n) {
    EXPECT_EQ(facts->variants[n].refused, "");
    EXPECT_TRUE(facts->variants[n].identical());
    EXPECT_EQ(facts->variants[n].end_to_end.size(), 3u);
  }
  EXPECT_EQ(bench_exit_code(*facts), 0);
}

TEST(Bench, AVariantThatDiffersHasNoTimes) {
  BenchFacts facts;
  BenchVariant& variant = facts.variants.emplace_back();
  variant.mode = Mode::kGraph;
  variant.first.emplace();
  variant.first->different = 1;
  variant.first->buffers.resize(1);
  variant.first->buffers[0].comparison = Comparison::kDifferent;
  variant.end_to_end = {1, 2};
  EXPECT_FALSE(variant.timed());
  EXPECT_NE(bench_text(facts).find("different"), std::string::npos);
  EXPECT_EQ(bench_json(facts).find("times_us"), std::string::npos);
  EXPECT_EQ(bench_exit_code(facts), 1);
  variant.refused = "no graphs";
  EXPECT_NE(bench_text(facts).find("no graphs"), std::string::npos);
  EXPECT_EQ(bench_exit_code(facts), 0);
}

}  // namespace
}  // namespace gfxgraph::replayer
