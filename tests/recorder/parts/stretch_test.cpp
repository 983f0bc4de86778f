// Which part of a program is recorded, call by call.
#include "recorder/selection/stretch.h"

#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

Options of(std::vector<std::string> ranges, std::vector<std::string> launches = {}) {
  Options options;
  options.ranges = std::move(ranges);
  options.launches = std::move(launches);
  return options;
}

TEST(Stretch, AllOfTheProgramUnlessSomethingIsSelected) {
  Stretch stretch(of({}), false);
  EXPECT_TRUE(stretch.whole());
  EXPECT_TRUE(stretch.recording());
  EXPECT_FALSE(stretch.outside());
  EXPECT_FALSE(stretch.range_begins(1, "step", 0)) << "nothing is entered";
  stretch.range_ends(1);
  EXPECT_FALSE(stretch.leaving());
}

TEST(Stretch, SegmentsAreStretchesOfAll) {
  Stretch stretch(of({}), true);
  EXPECT_FALSE(stretch.whole());
  EXPECT_TRUE(stretch.recording());
  (void)stretch.call_begins();
  EXPECT_FALSE(stretch.outside());
}

TEST(Stretch, ARangeThatIsSelectedHoldsItOpen) {
  Stretch stretch(of({"step#1"}), false);
  EXPECT_FALSE(stretch.recording());
  EXPECT_FALSE(stretch.range_begins(1, "step", stretch.count_range("step")));
  stretch.range_ends(1);
  EXPECT_FALSE(stretch.leaving()) << "nothing is left that was not entered";
  EXPECT_TRUE(stretch.range_begins(2, "step", stretch.count_range("step")));
  stretch.begin();
  EXPECT_FALSE(stretch.range_begins(3, "inner", stretch.count_range("inner")));
  stretch.range_ends(3);
  EXPECT_FALSE(stretch.leaving());
  stretch.range_ends(2);
  EXPECT_TRUE(stretch.leaving());
  EXPECT_TRUE(stretch.recording()) << "until the next call";
}

TEST(Stretch, WhatFollowsAtOnceIsTheSameStretch) {
  Stretch stretch(of({"step"}), false);
  EXPECT_TRUE(stretch.range_begins(1, "step", 0));
  stretch.begin();
  const uint64_t span = stretch.span();
  stretch.range_ends(1);
  EXPECT_TRUE(stretch.leaving());
  EXPECT_TRUE(stretch.range_begins(2, "step", 1));
  EXPECT_FALSE(stretch.leaving());
  EXPECT_EQ(stretch.span(), span);
}

TEST(Stretch, LaunchesAndRangesHoldItOpenTogether) {
  Stretch stretch(of({"step"}, {"5:7"}), false);
  EXPECT_TRUE(stretch.range_begins(1, "step", 0));
  stretch.begin();
  stretch.launch_begins();
  stretch.range_ends(1);
  EXPECT_FALSE(stretch.leaving());
  stretch.in_interval(true);
  stretch.launch_ends();
  stretch.leave_if_over();
  EXPECT_FALSE(stretch.leaving()) << "more launches of the interval are to come";
  stretch.in_interval(false);
  stretch.leave_if_over();
  EXPECT_TRUE(stretch.leaving());
}

TEST(Stretch, CallsCountWhereTheyBegan) {
  Stretch stretch(of({"step"}), false);
  (void)stretch.call_begins();
  EXPECT_TRUE(stretch.outside());
  stretch.begin();
  EXPECT_TRUE(stretch.outside()) << "the call began before it";
  EXPECT_TRUE(stretch.call_begins());
  EXPECT_FALSE(stretch.outside());
  EXPECT_FALSE(stretch.call_begins()) << "the same stretch as at the last call";
  stretch.end();
  EXPECT_TRUE(stretch.outside());
}

TEST(Stretch, LaunchesHaveNumbers) {
  Stretch stretch(of({}, {"2:4"}), false);
  EXPECT_EQ(stretch.count_launches(3), 0u);
  EXPECT_EQ(stretch.count_launches(1), 3u);
  EXPECT_EQ(stretch.launches(), 4u);
  EXPECT_TRUE(stretch.missed_launches().empty());
}

TEST(Stretch, WhatWasNotThereIsNamed) {
  Stretch stretch(of({"step#3"}, {"2:4"}), false);
  EXPECT_EQ(stretch.missed_ranges().size(), 1u);
  EXPECT_EQ(stretch.missed_launches().size(), 1u);
}

}  // namespace
}  // namespace gfxgraph::recorder
