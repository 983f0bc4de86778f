// The end of a range in the middle of a recording, which the trace does not hold.
#include "replayer/tool/range_end.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/tool/report.h"
#include "replayer/tool/run.h"
#include "test_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ToolRangeEndTest : public ::testing::Test {
 protected:
  ToolRangeEndTest() : trace(fake) {
    add_test_kernels(fake);
    buffer = trace.allocate_words({1, 2, 3, 4});
  }
  // Three launches, of which the range has the second.
  void load() {
    for (int i = 0; i < 3; ++i) launch_double(buffer);
    whole = trace.program();
    range = whole->cut(whole->operations()[1].sequence, whole->operations()[2].sequence);
    options.mode = Mode::kGraph;
    options.values_change = false;
    session = *Session::load(whole, fake.library(), options);
  }
  void launch_double(format::AllocationId id) {
    trace.launch("double", Arguments().value(trace.address(id)).value(4u));
  }
  Verdict replay(const RangeEnd* end) {
    facts = {};
    step = *Step::prepare(session, range, options);
    facts.replay = step.get();
    EXPECT_TRUE(execute({2, Verification::kEveryRun, false, {}, end}, *step, facts));
    text = text_report(facts);
    return verdict_of(facts);
  }

  FakeHip fake;
  TestTrace trace;
  format::AllocationId buffer = 0;
  std::shared_ptr<const Program> whole, range;
  LoadOptions options;
  std::shared_ptr<Session> session;
  std::unique_ptr<Step> step;
  ReplayFacts facts;
  std::string text;
};

TEST_F(ToolRangeEndTest, AReplayOfTheWholeTraceTellsIt) {
  load();
  EXPECT_TRUE(RangeEnd::is_needed(*whole, *range));
  EXPECT_FALSE(RangeEnd::is_needed(*whole, *whole));
  EXPECT_EQ(replay(nullptr).code, kExitDataLost);
  EXPECT_THAT(text, HasSubstr("not compared, work behind the range may have changed it"));
  step.reset();
  const Result<RangeEnd> end = RangeEnd::find(session, whole, *range, options);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(replay(&*end).code, kExitOk);
  EXPECT_THAT(text, HasSubstr("1 of 1 identical; 1 compared with a replay of the whole trace"));
  EXPECT_THAT(text, HasSubstr("times of 2 runs"));
}

// What the program wrote into it after its last launch stands nowhere in the trace of the range.
TEST_F(ToolRangeEndTest, MemoryThatTheHostSeesIsNotCompared) {
  const format::AllocationId pinned =
      trace.allocate_words({1, 2, 3, 4}, format::AllocationKind::kHostPinned);
  launch_double(pinned);
  load();
  range = whole->cut(whole->operations()[0].sequence, whole->operations()[2].sequence);
  const Result<RangeEnd> end = RangeEnd::find(session, whole, *range, options);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(replay(&*end).code, kExitDataLost);
  EXPECT_THAT(text, HasSubstr("not compared, the program may have written it"));
  EXPECT_THAT(text, HasSubstr("1 compared with a replay of the whole trace"));
}

TEST_F(ToolRangeEndTest, AnotherEndIsADifference) {
  load();
  const Result<RangeEnd> end = RangeEnd::find(session, whole, *range, options);
  ASSERT_TRUE(end) << end.error().message;
  fake.kernels["double"] = [](const FakeLaunch&) {};
  EXPECT_EQ(replay(&*end).code, kExitFailed);
  EXPECT_THAT(text, HasSubstr("differs from the whole trace at the end of the range"));
  EXPECT_THAT(text, Not(HasSubstr("times of")));
}

TEST_F(ToolRangeEndTest, AWholeTraceThatDiffersTellsNothing) {
  load();
  fake.kernels["double"] = [](const FakeLaunch&) {};
  const Result<RangeEnd> end = RangeEnd::find(session, whole, *range, options);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("it does not end as recorded"));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing
