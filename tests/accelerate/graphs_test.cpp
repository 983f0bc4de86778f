// Graphs whose values change, copies in sequences, and when graphs are given back.
#include "tests/accelerate/holder_fixture.h"

namespace gfxgraph::accelerate {
namespace {

class GraphsTest : public HolderTest {};

// A counter and an amount of LDS that grows, as a decoder has them.
TEST_F(GraphsTest, ArgumentsThatChangeAreGivenToTheGraph) {
  make(WayAsked::kGraph);
  for (uint32_t r = 0; r < 40; ++r) {
    step(0, 10);
    launch({104, 1, r, 9, 4 * r});
    step(10, 20);
    wait();
  }
  EXPECT_EQ(device.launched, 38);
  EXPECT_EQ(device.updated, 38);
  EXPECT_EQ(line(0).launches, 21u);
  EXPECT_EQ(line(0).changing, 1u);
  EXPECT_EQ(line(0).updates, 38u);
  EXPECT_EQ(device.graphs.size(), 1u);
  // More LDS than each device has may fail, and is not held.
  step(0, 10);
  launch({104, 1, 0, 9, 65'500});
  EXPECT_EQ(device.list, made);
}

TEST_F(GraphsTest, MoreThanHalfThatChangesIsNoSequence) {
  make(WayAsked::kGraph);
  for (uint32_t r = 0; r < 40; ++r) {
    step(0, 10);
    for (uint32_t i = 0; i < 11; ++i) launch({104, 1, 100 * r + i, 9});
    wait();
  }
  EXPECT_EQ(holder->report().sequences.size(), 1u);
  EXPECT_EQ(line(0).launches, 10u);
  EXPECT_EQ(line(0).changing, 0u);
}

// Nobody waits: graphs run, and their values must stay.
TEST_F(GraphsTest, AGraphThatRunsIsNotGivenOtherValues) {
  make(WayAsked::kGraph);
  const auto run = [&](uint32_t r) {
    step(0, 10);
    launch({104, 1, r, 9});
    step(10, 20);
    holder->before();
    EXPECT_EQ(device.list, made);
  };
  for (uint32_t r = 0; r < 30; ++r) run(r);
  EXPECT_EQ(device.graphs.size(), Graphs::kMostOfOne);
  EXPECT_EQ(device.launched, static_cast<int>(Graphs::kMostOfOne));
  EXPECT_GT(line(0).busy, 15u);
  // The device has come to the first of them, which its event tells.
  device.come_to = 1;
  run(30);
  run(31);
  EXPECT_EQ(device.launched, static_cast<int>(Graphs::kMostOfOne) + 1);
}

TEST_F(GraphsTest, ADeviceThatIsBehindIsLeftToTheCalls) {
  make(WayAsked::kMeasured);
  for (uint32_t r = 0; r < 200; ++r) {
    step(0, 10);
    launch({104, 1, r, 9});
    step(10, 20);
    holder->before();
  }
  EXPECT_EQ(line(0).phase, Phase::kCalls);
  EXPECT_EQ(line(0).reason.substr(0, 20), "the device is behind") << line(0).reason;
}

TEST_F(GraphsTest, UpdatesThatCostMoreThanTheySaveAreGivenUp) {
  make(WayAsked::kMeasured);
  device.update_ns = 5'000;
  for (uint32_t r = 0; r < 60; ++r) {
    for (uint32_t i = 0; i < 10; ++i) {
      step(i, i + 1);
      launch({104, 1, 100 * r + i, 9});
    }
    wait();
  }
  EXPECT_GT(line(0).changing, 8u);
  EXPECT_EQ(line(0).phase, Phase::kCalls);
  EXPECT_EQ(line(0).reason.substr(0, 26), "saves no time of the host:");
}

TEST_F(GraphsTest, AFailedUpdateGoesOutAsCalls) {
  make(WayAsked::kGraph);
  device.update_fails = 4;
  for (uint32_t r = 0; r < 10; ++r) {
    step(0, 10);
    launch({104, 1, r, 9});
    launch({105, 1, r, 9});
    wait();
  }
  EXPECT_EQ(line(0).reason, "hipGraphExecKernelNodeSetParams returned error 3");
  EXPECT_EQ(holder->peek_error(), 0);
}

TEST_F(GraphsTest, WhereUpdatesAreNotKnownNothingThatChangesIsHeld) {
  make(WayAsked::kGraph);
  device.updates = false;
  for (uint32_t r = 0; r < 10; ++r) {
    step(0, 10);
    launch({104, 1, r, 9});
    wait();
  }
  EXPECT_EQ(device.updated, 0);
  EXPECT_EQ(line(0).reason, "no updates");
  EXPECT_EQ(line(1).launches, 10u);  // what stays the same
  EXPECT_GT(line(1).submits, 3u);
}

TEST_F(GraphsTest, CopiesAreHeldExactly) {
  make(WayAsked::kGraph);
  const auto run = [&](uint32_t size) {
    step(0, 10);
    launch({kCopies, 0, size, 9});
    step(10, 20);
    wait();
  };
  for (int r = 0; r < 5; ++r) run(64);
  EXPECT_EQ(device.launched, 3);
  EXPECT_EQ(line(0).launches, 21u);
  run(65);  // another copy
  EXPECT_EQ(device.launched, 3);
  device.copies = false;
  holder->forget("hipFree");
  for (int r = 0; r < 5; ++r) run(66);
  EXPECT_EQ(holder->report().not_held.at("host memory"), 5u);
}

// A loop in each step, no waits: the period is the step, and begins where the loop does not.
TEST_F(GraphsTest, AStepWithALoopIsFoundWhole) {
  make(WayAsked::kGraph);
  for (uint32_t r = 0; r < 100; ++r) {
    step(0, 2);
    for (uint32_t i = 0; i < 40; ++i) launch({110 + i % 2, 1, 5, 9});
    launch({112, 1, r, 9});
    if (r % 50 == 49) wait();
    device.come_to = device.submissions;
  }
  EXPECT_EQ(line(0).launches, 43u);
  EXPECT_EQ(line(0).changing, 1u);
  EXPECT_GT(line(0).submits, 70u);
  EXPECT_LT(line(0).early, 5u);
}

// No limit for the process: what is not used any more is given back when it does not run.
TEST_F(GraphsTest, GraphsAreGivenBack) {
  make(WayAsked::kGraph);
  for (uint32_t r = 0; r < 300; ++r) {
    for (int k = 0; k < 4; ++k) {
      for (uint32_t i = 0; i < 12; ++i) launch({104, 1, 1000 * r + i, 9});
      if (r % 3 != 0) wait();
    }
    holder->forget("hipFree");
    device.come_to = device.submissions - below_;
    below_ = (below_ + 1) % 5;
    if (device.come_to > device.submissions) device.come_to = 0;
  }
  EXPECT_GE(device.launched, 400);
  EXPECT_GT(device.destroyed, 150);
  size_t alive = 0;
  for (const auto& one : device.graphs) alive += one->alive ? 1 : 0;
  EXPECT_LE(alive, 10u);
  // A reset takes them along.
  const int before = device.destroyed;
  holder->forget("hipDeviceReset", true);
  for (int r = 0; r < 4; ++r) {
    step(0, 20);
    wait();
  }
  EXPECT_EQ(device.destroyed, before);
}

}  // namespace
}  // namespace gfxgraph::accelerate
