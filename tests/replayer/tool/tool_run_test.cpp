// What gfxgraph-replay claims after a comparison.
#include "replayer/tool/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ToolRunTest : public ::testing::Test {
 protected:
  ToolRunTest() : trace(fake) { add_test_kernels(fake); }
  void launch_double(format::AllocationId id) {
    trace.launch("double", Arguments().value(trace.address(id)).value(4u));
  }
  Verdict run(Mode mode, RunRequest request) {
    LoadOptions options;
    options.mode = mode;
    options.values_change = false;  // as gfxgraph-replay without --iterations: no trial is launched
    if (!loaded_program) loaded_program = trace.program();
    facts = {};
    auto loaded = Step::load(loaded_program, fake.library(), options);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    if (!loaded) return {};
    replay = std::move(*loaded);
    facts.replay = replay.get();
    facts.mode_asked = mode;
    const auto executed = execute(request, *replay, facts);
    EXPECT_TRUE(executed) << (executed ? "" : executed.error().message);
    text = text_report(facts);
    return verdict_of(facts);
  }
  FakeHip fake;
  TestTrace trace;
  std::shared_ptr<const Program> loaded_program;
  std::unique_ptr<Step> replay;
  ReplayFacts facts;
  std::string text;
};

// What is printed before the report: no time of a run that was not compared, or that differs.
TEST_F(ToolRunTest, FiguresComeWithTheFirstRunThatIsIdentical) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  launch_double(a);
  std::vector<std::string> found, counts;
  RunRequest request{5};
  request.progress.found = [&](const std::string& line) { found.push_back(line); };
  request.progress.count = [&](const std::string& what, uint64_t done, uint64_t total) {
    counts.push_back(fmt::format("{} {} of {}", what, done, total));
  };
  EXPECT_EQ(run(Mode::kBatch, request).code, kExitOk);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("mode batch: the first run took"));
  EXPECT_EQ(counts.back(), "run 4 of 5");
  found.clear();
  request.verification = Verification::kNone;
  run(Mode::kBatch, request);
  EXPECT_TRUE(found.empty());
  request.verification = Verification::kFirstAndLast;
  fake.kernels["double"] = [](const FakeLaunch&) {};
  run(Mode::kBatch, request);
  EXPECT_TRUE(found.empty());
}

// Preparing a step restores memory for its first run.
TEST_F(ToolRunTest, EachRunIsRestoredOnce) {
  launch_double(trace.allocate_words({1, 2, 3, 4}));
  RunRequest request{0};
  request.verification = Verification::kNone;
  run(Mode::kBatch, request);
  const ptrdiff_t once = std::ranges::count(fake.log, "copy");
  EXPECT_GT(once, 0);
  fake.log.clear();
  request.repetitions = 2;
  run(Mode::kBatch, request);
  EXPECT_EQ(std::ranges::count(fake.log, "copy"), 3 * once);
  fake.log.clear();
  ASSERT_TRUE(replay->restore());
  EXPECT_EQ(std::ranges::count(fake.log, "copy"), once);
}

TEST_F(ToolRunTest, IdenticalRunsHaveTimes) {
  launch_double(trace.allocate(64));
  EXPECT_EQ(run(Mode::kBatch, {5}).code, kExitOk);
  EXPECT_EQ(facts.verified_runs, 2u);  // the first and the last of six
  EXPECT_THAT(text, HasSubstr("times of 5 runs"));
  EXPECT_EQ(facts.measurement.submit.samples.size(), 5u);
  EXPECT_EQ(facts.measurement.end_to_end.samples.size(), 5u);
}

TEST_F(ToolRunTest, TheReportListsTwentyCopiesThatDiffer) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  trace.edit_result = [](format::Content& result) {
    result = format::Content{};
    result.stored = false;
  };
  for (int i = 0; i < 20; ++i) trace.copy_to_host(a);
  run(Mode::kBatch, {1});
  const auto listed = [&] {
    size_t found = 0;
    for (size_t at = 0; (at = text.find("not compared, the bytes", at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  EXPECT_EQ(listed(), 20u) << text;
  EXPECT_THAT(text, Not(HasSubstr(" more\n")));
}

TEST_F(ToolRunTest, AGraphThatIsWrongLaterIsWrong) {
  launch_double(trace.allocate_words({1, 2, 3, 4}));
  fake.forget_from_graph_launch = 3;
  const Verdict verdict = run(Mode::kGraph, {10});
  EXPECT_EQ(verdict.code, kExitFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("run 11"));
  EXPECT_THAT(text, Not(HasSubstr("times of")));
}

TEST_F(ToolRunTest, AutoKeepsBatchWhereGraphsAreWrongLater) {
  launch_double(trace.allocate_words({1, 2, 3, 4}));
  fake.forget_from_graph_launch = 4;
  EXPECT_EQ(run(Mode::kAuto, {3}).code, kExitOk);
  EXPECT_EQ(replay->mode(), Mode::kBatch);
  EXPECT_THAT(replay->mode_reason(), HasSubstr("launched again"));
}

TEST_F(ToolRunTest, CopiesThatWereNotComparedAreNotIdentical) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  launch_double(a);
  trace.copy_to_host(a);
  trace.edit_result = [](format::Content& result) {
    result = format::Content{};
    result.stored = false;
  };
  trace.copy_to_host(a);
  const Verdict verdict = run(Mode::kBatch, {1, Verification::kEveryRun});
  EXPECT_EQ(verdict.code, kExitDataLost);
  EXPECT_THAT(verdict.reason, HasSubstr("1 of 2 copies were not compared"));
  EXPECT_THAT(text, HasSubstr("not compared, the bytes that it received were not recorded"));
  EXPECT_THAT(text, Not(HasSubstr("times of")));
}

TEST_F(ToolRunTest, BuffersThatWereNotComparedAreNotIdentical) {
  launch_double(trace.allocate(64));
  trace.edit_post = [](format::Content& post) {
    if (post.size_bytes != 32) return;
    post = format::Content{};
    post.size_bytes = 32;
    post.stored = false;
  };
  trace.allocate(32);
  const Verdict verdict = run(Mode::kBatch, {1});
  EXPECT_EQ(verdict.code, kExitDataLost);
  EXPECT_THAT(verdict.reason, HasSubstr("1 of 2 buffers"));
}

TEST_F(ToolRunTest, BisectSaysThatEagerDiffersToo) {
  launch_double(trace.allocate_words({1, 2, 3, 4}));
  const auto program = trace.program();
  fake.kernels["double"] = [](const FakeLaunch& l) { *l.argument<uint32_t*>(0) = 1; };
  LoadOptions options;
  options.mode = Mode::kGraph;
  auto loaded = Step::load(program, fake.library(), options);
  ASSERT_TRUE(loaded);
  facts.replay = loaded->get();
  ASSERT_TRUE(execute({1, Verification::kFirstAndLast, true}, **loaded, facts));
  ASSERT_TRUE(facts.bisect);
  ASSERT_TRUE(facts.bisect->eager);
  EXPECT_EQ(facts.bisect->eager->different, 1u);
  EXPECT_THAT(text_report(facts), HasSubstr("eager mode differs from the recording in 1 buffer "));
}

TEST_F(ToolRunTest, BisectOfEagerWithoutCheckpointsClaimsNothing) {
  launch_double(trace.allocate_words({1, 2, 3, 4}));
  const auto program = trace.program();
  fake.kernels["double"] = [](const FakeLaunch& l) { *l.argument<uint32_t*>(0) = 1; };
  LoadOptions options;
  options.mode = Mode::kEager;
  auto loaded = Step::load(program, fake.library(), options);
  ASSERT_TRUE(loaded);
  facts.replay = loaded->get();
  ASSERT_TRUE(execute({1, Verification::kFirstAndLast, true}, **loaded, facts));
  EXPECT_THAT(text_report(facts), HasSubstr("eager mode has no reference without checkpoints"));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
