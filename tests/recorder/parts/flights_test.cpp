#include "recorder/events/flights.h"

#include <gtest/gtest.h>

#include <random>

#include "order/stream_order.h"

namespace gfxgraph::recorder {
namespace {

using format::Synchronize;
using format::SynchronizeKind;

// Flights and the order of a trace's work (order/stream_order.h), which get the same calls.
class BesideTheLaw {
 public:
  explicit BesideTheLaw(uint32_t seed) : random_(seed), streams_{0, 1, 2, 3, 4} {
    if (seed % 2 != 0) add_device();
    for (const format::StreamId stream : {1U, 2U, 3U, 4U})
      create({.id = stream, .flags = stream > 2 ? order::kStreamNonBlocking : 0}, 0);
  }

  void step() {
    const format::StreamId stream = streams_[any(static_cast<uint32_t>(streams_.size()))];
    const uint32_t event = 1 + any(3);
    switch (any(8)) {
      case 0:
      case 1:
      case 2: return copy(stream, any(8) == 0);
      case 3:
        law_.record(event, stream);
        return follow(format::EventRecord{.event = event, .stream = stream});
      case 4:
        law_.wait(stream, event);
        return follow(format::StreamWait{.stream = stream, .event = event, .flags = 0});
      case 5: {
        const format::HostFunctionId id = any(4) == 0 ? 0 : ++functions_;
        law_.host_function(stream, id);
        return follow(format::HostFunction{.stream = stream, .call = "", .id = id});
      }
      default: break;
    }
    switch (any(6)) {
      case 0: return wait(SynchronizeKind::kStream, stream);
      case 1: return wait(SynchronizeKind::kStreamItself, stream);
      case 2: return wait(SynchronizeKind::kEvent, event);
      case 3:
      case 4:
        if (functions_ != 0) wait(SynchronizeKind::kHostFunction, 1 + any(functions_));
        return;
      default: return wait(SynchronizeKind::kDevice, any(devices_));
    }
  }

  // What is known to be done, and what each stream's next work follows.
  void compare() const {
    for (uint32_t work = 0; work < issued_; ++work) {
      ASSERT_EQ(flights_.over(work + 1, 0, 64).empty(), law_.host_knows(work)) << work;
      if (law_.host_knows(work)) continue;
      for (const format::StreamId stream : streams_) {
        bool follows = false;
        for (const uint32_t last : law_.front(stream)) follows |= law_.follows(last, work);
        ASSERT_EQ(flights_.over(work + 1, 0, 64, stream).at(0).done, follows)
            << work << " and stream " << stream;
      }
    }
  }

 private:
  uint32_t any(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  void create(format::StreamCreate stream, format::StreamId null_stream) {
    law_.add(stream.id, {stream.device, null_stream, stream.flags == 0});
    follow(stream);
  }
  void add_device() {
    devices_ = 2;
    flights_.add(format::Device{.number = 1, .null_stream = 10});
    law_.add(10, {1, 10});
    create({.id = 11, .device = 1}, 10);
    create({.id = 12, .flags = order::kStreamNonBlocking, .device = 1}, 10);
    streams_.insert(streams_.end(), {10, 11, 12});
  }
  void copy(format::StreamId stream, bool blocks) {
    const uint32_t work = law_.issue(stream).number;
    issued_ = work + 1;
    flights_.issue(stream, {.allocation = work + 1, .begin = 0, .end = 64});
    if (blocks) law_.tell_host(work);
    format::Copy copy;
    copy.stream = stream;
    copy.asynchronous = !blocks;
    follow(copy);
  }
  void wait(SynchronizeKind kind, uint32_t object) {
    law_.synchronize(kind, object);
    follow(Synchronize{.kind = kind, .object = object, .call = ""});
  }
  void follow(const format::Action& action) { (void)flights_.follow(action); }

  std::mt19937 random_;
  std::vector<format::StreamId> streams_;
  format::DeviceNumber devices_ = 1;
  uint32_t issued_ = 0;
  format::HostFunctionId functions_ = 0;
  order::StreamOrder law_;
  Flights flights_;
};

TEST(Flights, FollowTheLawOfOrder) {
  for (uint32_t seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    BesideTheLaw both(seed);
    for (int step = 0; step < 40 && !testing::Test::HasFailure(); ++step) {
      both.step();
      both.compare();
    }
  }
}

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

// Another thread issues work while a call waits, and its event comes first.
TEST(Flights, AWaitIsForWhatWasIssuedWhenItsCallBegan) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.issue(1, {7, 0, 64, false});
  const uint32_t began = flights.issued();
  flights.issue(1, {8, 0, 64, false, true, true});
  EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kStream, 1}, began).size(), 1u);
  EXPECT_EQ(flights.follow(Synchronize{}, began).size(), 0u);
  flights.issue(1, {9, 0, 64, false});
  format::Copy copy;
  copy.stream = 1;
  copy.asynchronous = false;
  const auto landed = flights.follow(copy, began);
  ASSERT_EQ(landed.size(), 1u) << "the copy's own, and not the kernel's";
  EXPECT_EQ(landed[0].allocation, 9u);
  EXPECT_EQ(flights.follow(Synchronize{}).size(), 1u);
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

TEST(Flights, RecordsAndWaitsOfTheNullStreamAreWorkOfIt) {
  for (const bool waits : {false, true}) {
    Flights flights;
    for (const format::StreamId stream : {1, 2}) flights.follow(format::StreamCreate{stream, 0, 0});
    flights.issue(1, {7, 0, 64, false});
    if (waits) {
      flights.follow(format::StreamWait{0, 5, 0});
    } else {
      flights.follow(format::EventRecord{5, 0});
    }
    EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kStream, 2}).size(), 1u) << waits;
  }
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

TEST(Flights, OfAGraphLandWithTheFunctionThatRunsBehindThem) {
  Flights flights;
  flights.issue(1, {6, 0, 64, false});
  const uint32_t first = flights.issue(1, {7, 0, 64, false});
  const uint32_t second = flights.issue(1, {8, 0, 64, false});
  flights.functions_follow(first, {{}, {second}});
  flights.follow(format::GraphLaunch{1, 1, 4});
  const auto landed_by = [&](format::HostFunctionId id) {
    std::vector<format::AllocationId> landed;
    for (const Flight& one : flights.follow(Synchronize{SynchronizeKind::kHostFunction, id}))
      landed.push_back(one.allocation);
    return landed;
  };
  EXPECT_EQ(landed_by(4), std::vector<format::AllocationId>{6});
  EXPECT_EQ(landed_by(5), std::vector<format::AllocationId>{8});
  EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kStream, 1}).size(), 1u);
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

// Work of the null stream follows the kernel before the event, but not the one behind it.
TEST(Flights, KernelsDoNotReplaceThoseThatOthersFollow) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  const Flight kernel{.allocation = 7, .end = 64, .kernel = true, .named = true};
  flights.issue(0, kernel);
  flights.follow(format::EventRecord{5, 0});
  flights.follow(format::StreamWait{1, 5, 0});
  flights.issue(1, kernel);
  auto over = flights.over(7, 0, 64, 0);
  ASSERT_EQ(over.size(), 2u);
  EXPECT_TRUE(over[0].done);
  EXPECT_FALSE(over[1].done);
  EXPECT_EQ(flights.follow(Synchronize{SynchronizeKind::kStream, 0}).size(), 1u);
  EXPECT_EQ(flights.over(7, 0, 64).size(), 1u);
  // Steps that end with an event each keep no more than a few.
  for (int step = 0; step < 100; ++step) {
    flights.issue(0, kernel);
    flights.follow(format::EventRecord{5, 0});
    flights.follow(format::StreamWait{1, 5, 0});
    flights.issue(1, kernel);
    flights.follow(format::EventRecord{6, 1});
    flights.follow(format::StreamWait{0, 6, 0});
    EXPECT_LE(flights.over(7, 0, 64).size(), 4u) << "step " << step;
  }
  EXPECT_GE(flights.follow(Synchronize{}).size(), 1u);
  EXPECT_TRUE(flights.empty());
  EXPECT_FALSE(flights.any_kernel());
}

// Work of blocking streams follows that of the null stream, but not each other's.
TEST(Flights, KernelsDoNotReplaceThoseThatOthersFollowByTheNullStream) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 0, 0});
  flights.follow(format::StreamCreate{2, 0, 0});
  const Flight kernel{.allocation = 7, .end = 64, .kernel = true, .named = true};
  for (int step = 0; step < 100; ++step) {
    flights.issue(0, kernel);
    EXPECT_EQ(flights.over(7, 0, 64).size(), 1u) << "step " << step;
    flights.issue(1, kernel);
    const auto over = flights.over(7, 0, 64, 2);
    ASSERT_EQ(over.size(), 2u);
    EXPECT_TRUE(over[0].done);
    EXPECT_FALSE(over[1].done);
  }
}

TEST(Flights, OfABoxWriteItsRowsOnly) {
  const Flight box = box_flight(1, 100, {8, 3, 2, 16, 64});
  EXPECT_EQ(box.end, 100u + 64 + 32 + 8);
  for (uint64_t plane = 0; plane < 2; ++plane) {
    for (uint64_t row = 0; row < 4; ++row) {
      const uint64_t at = 100 + 64 * plane + 16 * row;
      EXPECT_EQ(box.writes(at), row < 3) << at;
      EXPECT_EQ(box.writes(at + 7), row < 3) << at;
      EXPECT_FALSE(box.writes(at + 8)) << at;
    }
  }
  EXPECT_FALSE(box.writes(99));
  const Flight planes = box_flight(1, 0, {8, 1, 3, 16, 32});
  EXPECT_TRUE(planes.writes(39) && planes.writes(64));
  EXPECT_FALSE(planes.writes(16) || planes.writes(40));
  // Without space between rows, and where rows overlap: all of it.
  for (const Flight& whole :
       {box_flight(1, 0, {8, 3, 2, 8, 24}), box_flight(1, 0, {8, 3, 2, 0, 0}),
        box_flight(1, 0, {8, 3, 1, 4, 0}), box_flight(1, 0, {8, 1, 1, 64, 64})}) {
    for (uint64_t at = 0; at < whole.end; ++at) EXPECT_TRUE(whole.writes(at)) << at;
  }
}

TEST(Flights, AreDoneForWorkThatFollowsThem) {
  Flights flights;
  flights.follow(format::StreamCreate{1, 1, 0});
  flights.follow(format::StreamCreate{2, 1, 0});
  flights.issue(1, {.allocation = 1, .end = 8});
  ASSERT_EQ(flights.over(1, 0, 8, 1).size(), 1u);
  EXPECT_TRUE(flights.over(1, 0, 8, 1)[0].done);
  EXPECT_FALSE(flights.over(1, 0, 8, 2)[0].done);
}

}  // namespace
}  // namespace gfxgraph::recorder
