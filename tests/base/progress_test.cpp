#include "base/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cli/console.h"

namespace gfxgraph {
namespace {

using Seconds = std::chrono::duration<double>;

TEST(Progress, RateAndRemainingTimeAreThoseOfTheWorkSoFar) {
  EXPECT_EQ(progress_text("checking launch", 0, 10, Seconds(0)), "checking launch 0 of 10");
  EXPECT_EQ(progress_text("checking launch", 0, 10, Seconds(5)), "checking launch 0 of 10");
  EXPECT_EQ(progress_text("checking launch", 4, 10, Seconds(2)),
            "checking launch 4 of 10, 2.0 per second, 3 s left");
  EXPECT_EQ(progress_text("run", 10, 10, Seconds(2)), "run 10 of 10, 5.0 per second");
}

TEST(Progress, ALineThatIsNotShownPrintsNothing) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(false);
    line.at("working");
    line.at("working", 1, 2);
    line.found("something");
    EXPECT_FALSE(line.shown());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, ALineIsReplacedByTheNextAndErasedAtTheEnd) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(true);
    line.at("one", 0, 2);
    line.at("one", 1, 2);  // at once: too early
    line.at("two", 0, 3);  // other work is shown at once
    line.found("half");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gfxgraph: one 0 of 2 ...\r\x1b[Kgfxgraph: two 0 of 3 ...\r\x1b[Kgfxgraph: half\n");
}

TEST(Progress, WorkWithoutCountsBeginsAtOnceToo) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(true);
    line.at("first run");
    line.at("bisecting: the first of 8 states");
    line.at("bisecting: the first of 4 states");  // at once: too early
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "gfxgraph: first run ...\r\x1b[Kgfxgraph: bisecting: the first of 8 states ...\r\x1b[K");
}

TEST(Progress, VerboseNamesEachPieceOfWorkOnce) {
  testing::internal::CaptureStderr();
  console::options().verbose = true;
  {
    ProgressLine line(false);
    EXPECT_TRUE(line.listens());
    line.at("reading");
    line.at("reading");
    line.at("launch", 0, 2);
    line.at("launch", 1, 2);
  }
  console::options().verbose = false;
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::MatchesRegex("gfxgraph: .[0-9.]+ s. reading\ngfxgraph: .[0-9.]+ s. launch\n"));
}

}  // namespace
}  // namespace gfxgraph
