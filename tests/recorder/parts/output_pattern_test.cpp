#include "recorder/contract/output_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace gfxgraph::recorder {
namespace {

using ::testing::HasSubstr;

OutputPattern parsed(const std::string& name) {
  auto pattern = OutputPattern::parse(name);
  EXPECT_TRUE(pattern) << name;
  return pattern.value_or(OutputPattern());
}

TEST(OutputPattern, StandsForProcesses) {
  const OutputPattern both = parsed("run-%r-%p.gfxg");
  EXPECT_TRUE(both.per_process());
  EXPECT_EQ(both.file_name({123, 4}), "run-4-123.gfxg");
  EXPECT_EQ(both.file_name({123, std::nullopt}), "run-0-123.gfxg");
  EXPECT_EQ(both.file_name({123, 4}, 2), "run-4-123.2.gfxg");
  EXPECT_EQ(parsed("%p").file_name({7, {}}, 3), "7.3");
  const OutputPattern neither = parsed("100%%.gfxg");
  EXPECT_FALSE(neither.per_process());
  EXPECT_EQ(neither.file_name({123, 4}), "100%.gfxg");
  EXPECT_FALSE(parsed("%%p").per_process());
}

TEST(OutputPattern, KeysDifferWhereNamesDo) {
  const OutputPattern both = parsed("%p-%r");
  EXPECT_NE(both.key({12, 3}, 1), both.key({1, 23}, 1));
  EXPECT_NE(both.key({12, 3}, 1), both.key({12, 3}, 2));
  EXPECT_EQ(parsed("%r").key({12, 3}, 1), parsed("%r").key({13, 3}, 1));
}

TEST(OutputPattern, RefusesWhatItDoesNotKnow) {
  for (const char* name : {"run-%q.gfxg", "50%.gfxg", "run%", "%P"}) {
    const auto pattern = OutputPattern::parse(name);
    ASSERT_FALSE(pattern) << name;
    EXPECT_THAT(pattern.error().message, HasSubstr(std::string("in the name ") + name));
  }
  const auto folder = OutputPattern::parse_path("/tmp/%p/run.gfxg");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("%p is in a folder name of /tmp/%p/run.gfxg"));
  EXPECT_TRUE(OutputPattern::parse_path("/tmp/50%/run-%p.gfxg"));
}

TEST(OutputPattern, LengthsThatNoFileSystemHas) {
  EXPECT_TRUE(parsed("%p" + std::string(200, 'x')).check_length());
  const auto length = parsed("%p" + std::string(250, 'x')).check_length();
  ASSERT_FALSE(length);
  EXPECT_THAT(length.error().message, HasSubstr("the limit is 255"));
}

TEST(OutputPattern, ManifestsHaveTheNameWithoutPlaceholders) {
  EXPECT_EQ(parsed("run-%p.gfxg").manifest({}), "run.manifest.json");
  EXPECT_EQ(parsed("run.%r.%p.gfxg").manifest({}), "run.manifest.json");
  EXPECT_EQ(parsed("%p-run.gfxg").manifest({}), "run.manifest.json");
  EXPECT_EQ(parsed("a%pb.gfxg").manifest({}), "ab.manifest.json");
  EXPECT_EQ(parsed("%p.gfxg").manifest({}), "trace.manifest.json");
  EXPECT_EQ(parsed("run-%p").manifest({}), "run.manifest.json");
  // Of a tool that is started once for each rank.
  EXPECT_EQ(parsed("run-%r.gfxg").manifest(3), "run-3.manifest.json");
  EXPECT_EQ(parsed("run-%p.gfxg").manifest(3), "run.rank3.manifest.json");
}

TEST(OutputPattern, RanksOfLaunchers) {
  const char* all[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                       "SLURM_PROCID"};
  for (const char* name : all) ::unsetenv(name);
  EXPECT_EQ(rank_from_environment(), std::nullopt);
  for (const char* name : all) {
    ::setenv(name, "17", 1);
    EXPECT_EQ(rank_from_environment(), 17u) << name;
    for (const char* other : {"", "../x", "-1", "3 "}) {
      ::setenv(name, other, 1);
      EXPECT_EQ(rank_from_environment(), std::nullopt) << name << "=" << other;
    }
    ::unsetenv(name);
  }
  ::setenv("SLURM_PROCID", "0", 1);
  ::setenv("PMI_RANK", "5", 1);
  EXPECT_EQ(rank_from_environment(), 5u) << "mpirun in the script of a batch job";
  ::unsetenv("SLURM_PROCID");
  ::unsetenv("PMI_RANK");
}

}  // namespace
}  // namespace gfxgraph::recorder
