#include "recorder/contract/sealing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace gfxgraph::recorder {
namespace {

class SealingTest : public testing::Test {
 protected:
  SealingTest() { std::filesystem::create_directory(folder_); }
  ~SealingTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ = testing::TempDir() + "sealing_test." + std::to_string(::getpid());
};

TEST_F(SealingTest, TheToolSeesWhatTheRecorderCounts) {
  EXPECT_FALSE(sealing_now(folder_));
  SealingMark one;
  SealingMark other;
  one.add(5);  // before begin(): nothing
  one.begin(folder_, "", 100);
  other.begin(folder_, ".2", 50);
  one.add(30);
  other.reach(20);
  other.reach(10);
  ASSERT_TRUE(sealing_now(folder_));
  EXPECT_EQ(sealing_now(folder_)->done_bytes, 50u);
  EXPECT_EQ(sealing_now(folder_)->total_bytes, 150u);
  one.add(1000);  // targets of pointers come on top
  EXPECT_EQ(sealing_now(folder_)->done_bytes, 120u);
  one.end();
  other.end();
  EXPECT_FALSE(sealing_now(folder_));
}

TEST_F(SealingTest, WithoutAFolderNothingIsShown) {
  SealingMark mark;
  mark.begin("", "", 10);
  mark.begin(folder_ / "missing", "", 10);
  mark.add(1);
  mark.end();
  EXPECT_FALSE(sealing_now(folder_ / "missing"));
}

}  // namespace
}  // namespace gfxgraph::recorder
