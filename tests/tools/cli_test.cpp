#include "tools/cli.h"

#include <gmock/gmock.h>

#include <vector>

namespace gfxgraph::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StrEq;

SplitArguments split(std::vector<const char*> arguments) {
  return split_arguments(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()));
}

TEST(SplitArguments, SplitsAtTheFirstDashesOnly) {
  const SplitArguments result = split({"run", "--device", "real", "--", "app", "--", "--device"});
  EXPECT_THAT(result.own, ElementsAre(StrEq("run"), StrEq("--device"), StrEq("real")));
  EXPECT_THAT(result.program, ElementsAre(StrEq("app"), StrEq("--"), StrEq("--device")));
  EXPECT_TRUE(result.has_program);
}

TEST(SplitArguments, LeavesAllToUsWithoutDashes) {
  const SplitArguments result = split({"run", "app", "-x"});
  EXPECT_THAT(result.own, ElementsAre(StrEq("run"), StrEq("app"), StrEq("-x")));
  EXPECT_THAT(result.program, IsEmpty());
  EXPECT_FALSE(result.has_program);
}

TEST(SplitArguments, KnowsDashesWithNothingBehindThem) {
  const SplitArguments result = split({"run", "--"});
  EXPECT_THAT(result.program, IsEmpty());
  EXPECT_TRUE(result.has_program);
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(format_bytes(~0ull), "16777216.0 TiB");
}

TEST(Demangle, LeavesPlainNamesAlone) {
  EXPECT_EQ(demangle("_Z5saxpyfPKfPfi"), "saxpy(float, float const*, float*, int)");
  EXPECT_EQ(demangle("vadd"), "vadd");
  EXPECT_EQ(demangle(""), "");
}

TEST(ExitCode, FollowsTheContract) {
  EXPECT_EQ(exit_code(Status::kOk), 0);
  EXPECT_EQ(exit_code(Status::kMismatch), 1);
  EXPECT_EQ(exit_code(Status::kTruncated), 3);
  EXPECT_EQ(exit_code(Status::kIncomplete), 3);
  EXPECT_EQ(exit_code(Status::kUnsafeLane), 4);
}

}  // namespace
}  // namespace gfxgraph::tools
