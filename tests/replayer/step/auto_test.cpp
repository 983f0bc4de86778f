// Mode auto: which mode it keeps, why, and how long it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
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

// Copies to the device until something has been prepared: each restore makes as many.
class Restores : public ReplayTest {
 protected:
  Restores() {
    launch_double(trace.allocate_words({1, 2, 3, 4}));
    program = trace.program();
  }
  std::unique_ptr<Step> load_with(Mode mode) {
    LoadOptions options;
    options.mode = mode;
    options.auto_seconds = 0;  // one run
    fake.log.clear();
    return load(fake, program, options);
  }
  ptrdiff_t copies() { return std::ranges::count(fake.log, "copy"); }
  std::shared_ptr<const Program> program;
};

TEST_F(Restores, AreMadeOnceBeforeEachRun) {
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto replay = load_with(mode);
    ASSERT_NE(replay, nullptr);
    fake.log.clear();
    ASSERT_TRUE(replay->restore());
    const ptrdiff_t once = copies();
    EXPECT_GT(once, 0);
    ASSERT_TRUE(replay->restore_if_changed());
    EXPECT_EQ(copies(), once) << mode_name(mode);
    ASSERT_TRUE(replay->restore());
    EXPECT_EQ(copies(), 2 * once) << "whoever asks for it gets it";
    ASSERT_TRUE(replay->run());
    ASSERT_TRUE(replay->restore_if_changed());
    EXPECT_EQ(copies(), 3 * once) << mode_name(mode);
    ASSERT_TRUE(measure(*replay, 1));
    EXPECT_EQ(copies(), 3 * once) << mode_name(mode);
    ASSERT_TRUE(measure(*replay, 2));
    EXPECT_EQ(copies(), 5 * once) << mode_name(mode);
    expect_identical(*load_with(mode));
  }
}

TEST_F(Restores, OfModeAutoAreNotMadeTwice) {
  ASSERT_NE(load_with(Mode::kBatch), nullptr);
  const ptrdiff_t once = copies();
  const auto replay = load_with(Mode::kAuto);
  ASSERT_NE(replay, nullptr);
  const ptrdiff_t read = 1;  // what the run left, to compare it with other modes
  EXPECT_EQ(copies(), 2 * once + read) << "before its run, and behind it";
  ASSERT_TRUE(replay->restore_if_changed());
  EXPECT_EQ(copies(), 2 * once + read);
  expect_identical(*replay);
}

// Steps and bindings of the same session.
TEST_F(Restores, AreMadeAgainWhereOthersWriteTheSameMemory) {
  auto session = Session::load(program, fake.library(), {});
  ASSERT_TRUE(session);
  auto one = Step::prepare(*session, program, {});
  auto other = Step::prepare(*session, program, {});
  ASSERT_TRUE(one && other);
  std::vector<uint32_t> mine(4);
  for (const auto& change : std::vector<std::function<bool()>>{
           [&] { return (*other)->run().has_value(); },
           [&] { return measure(**other, 1).has_value(); },
           [&] { return (*session)->bind({1, mine.data(), 16, false}).has_value(); }}) {
    ASSERT_TRUE((*one)->restore());
    fake.log.clear();
    ASSERT_TRUE((*one)->restore_if_changed());
    ASSERT_EQ(copies(), 0);
    ASSERT_TRUE(change());
    fake.log.clear();
    ASSERT_TRUE((*one)->restore_if_changed());
    EXPECT_GT(copies(), 0);
    expect_identical(**one);
  }
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
  for (const char* part : {"eager ", "(first runs): eager kept", "batch not measured: another",
                           "graph not measured: another run would take longer than the 0 s"}) {
    EXPECT_THAT(replay->mode_reason(), HasSubstr(part));
  }
  EXPECT_EQ(std::ranges::count(fake.log, "launch"), 1);
  EXPECT_EQ(std::ranges::count(fake.log, "graph launch"), 0);
  expect_identical(*replay);
}

// Time is what launches take, so it does not depend on the machine.
TEST_F(Auto, GivesTheFirstFigureAtOnceAndEndsInItsTime) {
  static double now = 0, cost = 0;
  static decltype(HipTable::hipModuleLaunchKernel) launch;
  static decltype(HipTable::hipGraphLaunch) launch_graph;
  HipTable table = fake.table();
  launch = table.hipModuleLaunchKernel;
  launch_graph = table.hipGraphLaunch;
  table.hipModuleLaunchKernel = [](void* function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                   void* stream, void** parameters, void** extra) {
    now += cost;
    return launch(function, gx, gy, gz, bx, by, bz, lds, stream, parameters, extra);
  };
  table.hipGraphLaunch = [](void* graph, void* stream) {
    now += cost;
    return launch_graph(graph, stream);
  };
  launch_double(trace.allocate(64));
  const auto program = trace.program();
  for (const double run : {0.001, 0.09, 0.11, 0.4, 0.99, 1.01, 1.49, 1.51, 2.9, 3.1, 100.0}) {
    now = 1000;
    cost = run;
    LoadOptions options;
    options.auto_eager = true;
    options.values_change = false;  // no trial, which launches a graph
    options.auto_clock = [] { return now; };
    std::vector<double> figures;
    options.progress.found = [&](const std::string&) { figures.push_back(now - 1000); };
    const auto step = Step::load(program, *HipLibrary::from_table(table, "slow"), options);
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_FALSE(figures.empty());
    EXPECT_NEAR(figures[0], run, 1e-9) << "behind one run, before anything else";
    EXPECT_EQ(figures.size(),
              std::clamp<size_t>(static_cast<size_t>(kDefaultAutoSeconds / run), 1, 3));
    EXPECT_LE(now - 1000, std::max(run, kDefaultAutoSeconds) + 1e-9);
    // Nor is time left over in which another round would fit.
    if (run < 1 && run > kDefaultAutoSeconds / 30) {
      EXPECT_GT(now - 1000, kDefaultAutoSeconds - 3 * run - 1e-9);
    }
  }
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
