// gfxgraph-replay --range, --iterations and --set.
#include "replayer/tool/iterate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/file/file.h"
#include "replay_fixture.h"
#include "replayer/tool/report.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

// A step that writes `value` to a word of its own, `bytes` behind the one before.
class IterateTest : public ReplayTest {
 protected:
  void record(bool marked) {
    history = trace.allocate(64 * 4);
    for (uint32_t i = 0; i < 4; ++i) {
      if (marked) trace.range_begins("step", i + 1, i);
      trace.launch("fill",
                   Arguments().value(trace.address(history) + 4 * i).value(i + 10).value(1u));
      trace.launch("double", Arguments().value(trace.address(history) + 128).value(4u));
      if (marked) trace.range_ends("step", i + 1);
      trace.synchronize_device();
    }
    whole = trace.program();
  }

  // The first words of the history.
  Result<std::vector<uint32_t>> run(const std::string& name, const IterateRequest& request,
                                    size_t words, Mode mode = Mode::kBatch) {
    GFXGRAPH_ASSIGN_OR_RETURN(const ranges::RangeSummary found,
                              find_range_or_period(whole->trace(), name));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const Range> range, open_range(whole, &found));
    LoadOptions options;
    options.mode = mode;
    GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                              Session::load(whole, fake.library(), options));
    GFXGRAPH_ASSIGN_OR_RETURN(step, Step::prepare(std::move(session), range->program, options));
    GFXGRAPH_ASSIGN_OR_RETURN(made, iterate(request, *range, *step, progress));
    std::vector<uint32_t> got(words);
    GFXGRAPH_TRY(
        step->instance().memory().read(history, 0, std::as_writable_bytes(std::span(got))));
    return got;
  }

  format::AllocationId history = 0;
  std::shared_ptr<const Program> whole;
  std::unique_ptr<Step> step;
  Progress progress;
  uint64_t made = 0;  // iterations
};

using Words = std::vector<uint32_t>;
constexpr uint32_t kUntouched = 0x5a5a5a5a;  // as TestTrace::allocate() begins memory

TEST_F(IterateTest, ASignAloneIsNoStep) {
  record(true);
  const auto found = find_range_or_period(whole->trace(), "step#2");
  const auto range = open_range(whole, &*found);
  const auto& parameters = (*range)->parameters;
  const auto number = std::ranges::find_if(parameters, [](const StepParameter& one) {
    return one.match.step == 1;  // the other one is the place
  });
  ASSERT_NE(number, parameters.end());
  const auto value = [&](const std::string& text) {
    IterateRequest request;
    request.iterations = 3;
    request.set = {number->name + "=" + text};
    const auto got = run("step#2", request, 5);
    EXPECT_TRUE(got) << got.error().message;
    return got ? *got : Words();
  };
  EXPECT_EQ(value("7"), (Words{10, 11, 7, 7, 7}));
  EXPECT_EQ(value("0x10"), (Words{10, 11, 16, 16, 16}));
  EXPECT_EQ(value("-5"), (Words{10, 11, 0u - 5, 0u - 5, 0u - 5}));
  EXPECT_EQ(value("-0x5"), (Words{10, 11, 0u - 5, 0u - 5, 0u - 5}));
  EXPECT_EQ(value("+2"), (Words{10, 11, 12, 14, 16}));
  EXPECT_EQ(value("+-5"), (Words{10, 11, 12, 7, 2}));
  for (const char* wrong : {"-+5", "+", "--5", "-", "+x", "-9223372036854775809"}) {
    IterateRequest request;
    request.set = {std::string("#0=") + wrong};
    const auto refused = run("step#2", request, 5);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("neither a number nor a step")) << wrong;
  }
}

// Of a program that marks nothing, the repetitions that were found in it.
TEST_F(IterateTest, APeriodIsARange) {
  record(false);
  IterateRequest request;
  request.iterations = 6;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    const auto got = run("period#1#1", request, 8, mode);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, (Words{10, 11, 12, 13, 14, 15, 16, kUntouched})) << mode_name(mode);
    const auto first = run("period#1", request, 8, mode);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(*first, (Words{10, 11, 12, 13, 14, 15, kUntouched, kUntouched})) << mode_name(mode);
  }
  for (const char* wrong : {"period#2", "period#1#4", "period", "step"}) {
    const auto refused = run(wrong, request, 8);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().status, Status::kNotFound);
    EXPECT_THAT(refused.error().message, HasSubstr("period#1, 4 times 2 launches"));
    EXPECT_THAT(refused.error().message, HasSubstr("--launches N:M"));
  }
}

TEST_F(IterateTest, MarkedRangesGoFirst) {
  record(true);
  EXPECT_FALSE(find_range_or_period(whole->trace(), "period#1"));
  EXPECT_EQ(find_range_or_period(whole->trace(), "step#3")->ordinal, 3u);
}

// What was made until then is not thrown away.
TEST_F(IterateTest, CtrlCEndsThemBehindThePresentOne) {
  record(true);
  progress.count = [](const std::string& what, uint64_t done, uint64_t) {
    if (what == "iteration" && done == 2) (void)std::raise(SIGINT);
  };
  const std::string file = trace.path().string() + ".out";
  IterateRequest request;
  request.iterations = 1000;
  request.outputs = {fmt::format("#{}:32={}", history, file)};
  const auto got = run("step#0", request, 8);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(made, 3u);
  const Words expected = {10, 11, 12, kUntouched, kUntouched, kUntouched, kUntouched, kUntouched};
  EXPECT_EQ(*got, expected);
  Words written(8);
  const auto bytes = read_file(file);
  std::filesystem::remove(file);
  ASSERT_TRUE(bytes && bytes->size() == 32);
  std::memcpy(written.data(), bytes->data(), 32);
  EXPECT_EQ(written, expected);
  ReplayFacts facts;
  facts.replay = step.get();
  facts.iterations = made;
  facts.iterations_asked = request.iterations;
  EXPECT_EQ(iterations_text(facts), "iterations: 3, interrupted, of 1000\n");
  EXPECT_THAT(json_report(facts), HasSubstr("\"iterations_asked\": 1000"));
}

TEST_F(IterateTest, TheReportCountsWhatWasUpdated) {
  record(true);
  IterateRequest request;
  request.iterations = 5;
  ASSERT_TRUE(run("step", request, 1, Mode::kGraph));
  ReplayFacts facts;
  facts.replay = step.get();
  facts.iterations = 5;
  EXPECT_EQ(iterations_text(facts),
            "iterations: 5; 4 nodes updated in place, 0 graphs built again\n");
  EXPECT_THAT(json_report(facts), HasSubstr("\"nodes_updated\": 4"));
  EXPECT_THAT(json_report(facts), HasSubstr("\"graphs_rebuilt\": 0"));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
