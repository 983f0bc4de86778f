// Mode auto: which mode it keeps, why, and how long it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "replay_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

class Auto : public ReplayTest {};

TEST_F(Auto, KeepsBatchWhereGraphsLoseNodes) {
  launch_double(trace.allocate(64));
  fake.lose_graph_node = true;
  const auto replay = load_mode(Mode::kAuto);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(replay->mode(), Mode::kBatch);
  EXPECT_THAT(replay->mode_reason(), HasSubstr("no graph"));
}

TEST_F(Auto, KeepsBatchWhereGraphsGiveOtherBytes) {
  launch_double(trace.allocate(64));
  fake.skip_last_graph_kernel = true;
  const auto replay = load_mode(Mode::kAuto);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(replay->mode(), Mode::kBatch);
  EXPECT_THAT(replay->mode_reason(), HasSubstr("different bytes"));
  expect_identical(*replay);
}

TEST_F(Auto, SaysWhatItMeasured) {
  launch_double(trace.allocate(64));
  const auto program = trace.program();
  for (const bool eager : {false, true}) {
    LoadOptions options;
    options.auto_seconds = 1e6;
    options.auto_eager = eager;
    std::vector<std::string> found;
    options.progress.found = [&](const std::string& line) { found.push_back(line); };
    const auto replay = load(fake, program, options);
    for (const char* part : {"batch ", "graph ", "us end to end (medians of 9)", " kept"})
      EXPECT_THAT(replay->mode_reason(), HasSubstr(part));
    EXPECT_EQ(replay->mode_reason().find("eager ") != std::string::npos, eager);
    EXPECT_NE(replay->mode(), Mode::kAuto);
    ASSERT_EQ(found.size(), eager ? 3u : 2u);
    EXPECT_THAT(found[0], HasSubstr(eager ? "mode eager: the first run took" : "mode batch: the"));
  }
}

TEST_F(Auto, KeepsToItsTime) {
  launch_double(trace.allocate(64));
  LoadOptions options;
  options.auto_seconds = 0;
  options.auto_eager = true;
  fake.log.clear();
  const auto replay = load(fake, trace.program(), options);
  EXPECT_EQ(replay->mode(), Mode::kEager);
  for (const char* part : {"eager ", "(first runs): eager kept", "batch not measured: one run",
                           "graph not measured: one run used up the 0 s"}) {
    EXPECT_THAT(replay->mode_reason(), HasSubstr(part));
  }
  EXPECT_EQ(std::ranges::count(fake.log, "launch"), 1);
  EXPECT_EQ(std::ranges::count(fake.log, "graph launch"), 0);
  expect_identical(*replay);
}

// A mode that comes first is kept unless another one is faster beyond doubt.
TEST(ClearlyFaster, IsBeyondTheSpreadOfBoth) {
  const std::vector<double> fast = {1, 2, 3, 2, 1}, slow = {4, 5, 6, 5, 4}, wide = {2, 9, 2, 9, 2};
  EXPECT_TRUE(clearly_faster(fast, slow));
  EXPECT_FALSE(clearly_faster(slow, fast));
  EXPECT_FALSE(clearly_faster(fast, wide));
  EXPECT_FALSE(clearly_faster(wide, slow));
  EXPECT_FALSE(clearly_faster(fast, fast));
  EXPECT_FALSE(clearly_faster({1, 1}, slow)) << "too few";
  EXPECT_FALSE(clearly_faster(fast, {})) << "too few";
}

TEST_F(Auto, KeepsAGraphThatIsFaster) {
  launch_double(trace.allocate(64));
  HipTable table = fake.table();
  static decltype(table.hipModuleLaunchKernel) original;
  original = table.hipModuleLaunchKernel;
  table.hipModuleLaunchKernel = [](void* function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                   void* stream, void** parameters, void** extra) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return original(function, gx, gy, gz, bx, by, bz, lds, stream, parameters, extra);
  };
  LoadOptions options;
  options.auto_eager = true;
  options.auto_seconds = 1e6;
  auto replay = Step::load(trace.program(), *HipLibrary::from_table(table, "fake"), options);
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ((*replay)->mode(), Mode::kGraph);
  EXPECT_THAT((*replay)->mode_reason(), HasSubstr("graph kept, by more than the spread"));
  expect_identical(**replay);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
