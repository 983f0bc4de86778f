#include "recorder/contents/flights.h"

#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

using format::Synchronize;
using format::SynchronizeKind;

TEST(Flights, LandWhenTheHostLearnsOfTheirStream) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.follow(format::StreamCreate{2, 1, 0});
  flights.issue(1, {7, 0, 64, false});
  flights.issue(2, {8, 0, 64, false});
  EXPECT_EQ(flights.over(7, 63, 100).size(), 1u);
  EXPECT_TRUE(flights.over(7, 64, 100).empty());
  const auto landed = flights.follow(Synchronize{SynchronizeKind::kStream, 1});
  ASSERT_EQ(landed.size(), 1u);
  EXPECT_EQ(landed[0].allocation, 7u);
  EXPECT_EQ(flights.follow(Synchronize{}).size(), 1u);
  EXPECT_TRUE(flights.empty());
}

TEST(Flights, LandThroughEventsAndTheNullStream) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.follow(format::StreamCreate{2, 0, 0});
  flights.issue(1, {7, 0, 64, false});
  flights.follow(format::EventRecord{5, 1});
  flights.issue(1, {8, 0, 64, false});
  flights.follow(format::StreamWait{2, 5, 0});
  const auto landed = flights.follow(Synchronize{SynchronizeKind::kStream, 0});
  ASSERT_EQ(landed.size(), 1u) << "the null stream waits for 2, which waits for the event";
  EXPECT_EQ(landed[0].allocation, 7u);
  EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kEvent, 5}).size(), 0u);
}

TEST(Flights, WorkOfTheNullStreamPassesOnWhatItWaitsFor) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 0, 0});
  flights.follow(format::StreamCreate{2, 0, 0});
  flights.follow(format::StreamCreate{3, 1, 0});
  flights.issue(1, {7, 0, 64, false});
  flights.issue(3, {8, 0, 64, false});
  format::Launch launch;
  launch.stream = 2;
  flights.follow(launch);
  EXPECT_TRUE(flights.follow(Synchronize{SynchronizeKind::kStream, 2}).empty());
  launch.stream = 0;
  flights.follow(launch);
  const auto landed = flights.follow(Synchronize{SynchronizeKind::kStream, 2});
  ASSERT_EQ(landed.size(), 1u);
  EXPECT_EQ(landed[0].allocation, 7u);
}

TEST(Flights, LandLateByAHostFunctionAndAtOnceByACopyThatBlocks) {
  Flights flights;
  flights.issue(1, {7, 0, 64, false});
  flights.follow(format::HostFunction{1, "hipStreamAddCallback", 1});
  flights.issue(1, {8, 0, 64, false});
  const auto landed = flights.follow(Synchronize{SynchronizeKind::kHostFunction, 1});
  ASSERT_EQ(landed.size(), 1u);
  EXPECT_TRUE(landed[0].late);
  format::Copy copy;
  copy.stream = 1;
  ASSERT_EQ(flights.follow(copy).size(), 1u);
  EXPECT_TRUE(flights.empty());
}

TEST(Flights, KnowWhatRunsBesideAHostFunction) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.follow(format::StreamCreate{2, 1, 0});
  flights.issue(1, {7, 0, 64, false, true, true});
  flights.issue(2, {8, 0, 64, false, true, true});
  flights.issue(2, {9, 0, 64, false, true, false});
  ASSERT_EQ(flights.beside(1).size(), 1u);
  EXPECT_EQ(flights.beside(1)[0].allocation, 8u);
  flights.follow(format::HostFunction{1, "hipStreamAddCallback", 1});
  EXPECT_TRUE(flights.follows(1, 1));
  EXPECT_FALSE(flights.follows(2, 1));
  flights.follow(format::EventRecord{5, 1});
  flights.follow(format::StreamWait{2, 5, 0});
  EXPECT_TRUE(flights.follows(2, 1));
  EXPECT_FALSE(flights.follows(0, 1));
  EXPECT_TRUE(flights.beside(2).empty());
  flights.follow(Synchronize{SynchronizeKind::kStream, 2});
  EXPECT_TRUE(flights.follows(0, 1)) << "the host knows";
}

TEST(Flights, KernelsReplaceThoseTheyFollow) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.follow(format::StreamCreate{2, 1, 0});
  for (int i = 0; i < 1000; ++i) {
    flights.issue(1, {7, 0, 64, false, true, i == 0});
    flights.issue(2, {7, 0, 64, false, true, false});
  }
  ASSERT_EQ(flights.over(7, 0, 64).size(), 2u);
  EXPECT_TRUE(flights.any_kernel());
  const auto done = flights.land_kernels(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].named) << "one of them was given the address";
  EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kStream, 2}).size(), 1u);
  EXPECT_FALSE(flights.any_kernel());
  flights.issue(1, {7, 0, 64, false, true, false});
  flights.forget(7);
  EXPECT_FALSE(flights.any_kernel());
}

}  // namespace
}  // namespace gfxgraph::recorder
