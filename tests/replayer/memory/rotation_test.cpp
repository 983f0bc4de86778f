#include "replayer/memory/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "fake_hip.h"

namespace gfxgraph::replayer::testing {
namespace {

class RotationTest : public ::testing::Test {
 protected:
  // Changes the place, in it or in the next one.
  void change() {
    if (places.is_free(runs)) return;
    ASSERT_TRUE(places.free_next(runs));
    places.turn(runs);
  }
  void run() { runs.begin(stream); }
  auto calls(const std::string& name) const { return std::ranges::count(fake.log, name); }

  FakeHip fake;
  std::shared_ptr<const HipLibrary> library = fake.library();
  hip::Stream stream = fake.new_handle();
  StreamRuns runs{*library};
  Rotation<int> places;
};

TEST_F(RotationTest, AFreePlaceStays) {
  change();
  EXPECT_EQ(places.at(), 0u) << "no run has read it";
  run();
  EXPECT_FALSE(places.is_free(runs));
  EXPECT_TRUE(Rotation<int>(runs).is_free(runs)) << "a new one, which no run has read";
  runs.all_have_ended();
  change();
  EXPECT_EQ(places.at(), 0u) << "the run that read it has ended";
  EXPECT_THAT(fake.log, ::testing::IsEmpty());
}

TEST_F(RotationTest, WaitsOnlyWhereRunsInFlightReadAllPlaces) {
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(places.at(), n);
    EXPECT_EQ(calls("event sync"), 0);
    run();
    change();
  }
  EXPECT_EQ(places.at(), 0u);
  EXPECT_EQ(calls("record"), 4);
  EXPECT_EQ(calls("event sync"), 1);
  EXPECT_TRUE(runs.has_ended(1));
  EXPECT_FALSE(runs.has_ended(2)) << "not more than it must wait for";
}

TEST_F(RotationTest, RotationsShareTheFenceBehindARun) {
  std::vector<Rotation<int>> several(5);
  run();
  for (Rotation<int>& one : several) {
    ASSERT_TRUE(one.free_next(runs));
    one.turn(runs);
  }
  EXPECT_EQ(calls("record"), 1);
}

// One that changes seldom is behind a fence that other changes have taken since.
TEST_F(RotationTest, ALostFenceIsReplacedByTheNextOne) {
  for (int n = 0; n < 6; ++n) {
    run();
    ASSERT_TRUE(runs.fence());
  }
  EXPECT_EQ(calls("event sync"), 0) << "taking one waits for nothing";
  ASSERT_TRUE(runs.wait_for(1));
  EXPECT_TRUE(runs.has_ended(3));
  EXPECT_FALSE(runs.has_ended(4));
  run();
  ASSERT_TRUE(runs.wait_for(7)) << "without a fence";
  EXPECT_EQ(calls("stream sync"), 1);
  EXPECT_TRUE(runs.has_ended(7));
}

TEST_F(RotationTest, TheDeviceIsAskedOnceAfterEachRun) {
  fake.busy = {stream};
  run();
  EXPECT_FALSE(runs.ask());
  fake.busy.clear();
  EXPECT_FALSE(runs.ask());
  run();
  EXPECT_TRUE(runs.ask());
  EXPECT_TRUE(runs.has_ended(2));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
