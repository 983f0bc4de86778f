// What the walk of a kernel reaches, over assembled kernels of which each one has a way of its own.
#include "tools/coverage/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace gfxgraph::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kObject = GFXGRAPH_COVERAGE_OBJECTS "/walk.co";

class Coverage : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream(kObject)) GTEST_SKIP() << "not assembled: " << kObject;
    file_ = cover_file(kObject);
    ASSERT_EQ(file_.error.status, Status::kOk) << file_.error.message;
    ASSERT_EQ(file_.objects.size(), 1U);
    ASSERT_EQ(file_.objects[0].error, "");
  }
  const KernelWalk& kernel(const std::string& name) {
    for (const KernelWalk& walk : file_.objects[0].kernels) {
      if (walk.name == name) return walk;
    }
    ADD_FAILURE() << "no kernel " << name;
    return file_.objects[0].kernels[0];
  }
  uint64_t missing(const std::string& name) {
    const auto& found = kernel(name).missing;
    return found.contains("image_load_pck") ? found.at("image_load_pck") : 0;
  }

  FileCoverage file_;
};

TEST_F(Coverage, WhatStandsBehindTheEndDoesNotCount) {
  EXPECT_TRUE(kernel("plain").complete());
  EXPECT_EQ(kernel("plain").instructions, 3U);
}

TEST_F(Coverage, FollowsBranchesCallsAndLongJumps) {
  EXPECT_EQ(missing("branch_to_missing"), 1U);
  EXPECT_EQ(missing("calls_missing"), 1U);
  EXPECT_EQ(missing("long_jump"), 1U);
  for (const char* name : {"branch_to_missing", "calls_missing", "long_jump"}) {
    EXPECT_FALSE(kernel(name).complete()) << name;
    EXPECT_FALSE(kernel(name).swept_because) << name;
    EXPECT_TRUE(kernel(name).problems.empty()) << name << kernel(name).problems[0];
  }
}

TEST_F(Coverage, GoesOnBehindACallOnlyIfTheFunctionReturns) {
  EXPECT_TRUE(kernel("calls_noreturn").complete());
  EXPECT_EQ(missing("missing_behind_call"), 1U);
  EXPECT_FALSE(kernel("missing_behind_call").swept_because);
}

TEST_F(Coverage, AFunctionPointerMakesAllCodeCount) {
  const KernelWalk& walk = kernel("function_pointer");
  ASSERT_TRUE(walk.swept_because);
  EXPECT_EQ(missing("function_pointer"), 5U);
  EXPECT_GT(walk.instructions, 40U);
}

TEST_F(Coverage, SaysWhatElseKeepsAKernelFromRunning) {
  EXPECT_THAT(kernel("runs_off").problems, ElementsAre(HasSubstr("runs off the end")));
  EXPECT_THAT(kernel("illegal").problems, ElementsAre(HasSubstr("not a gfx1030 instruction")));
  EXPECT_THAT(kernel("runs_off").missing, testing::IsEmpty());
}

TEST_F(Coverage, JudgesWhatIsWrittenToMode) {
  EXPECT_TRUE(kernel("sets_mode").complete());
  EXPECT_THAT(kernel("sets_other_mode").problems, ElementsAre(HasSubstr("s_setreg_b32 sets bits")));
  EXPECT_THAT(kernel("may_set_other_mode").problems, ElementsAre(HasSubstr("may set bits")));
}

TEST_F(Coverage, SumsUp) {
  const std::vector<MissingOpcode> missing = missing_opcodes({file_, file_});
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].name, "image_load_pck");
  EXPECT_EQ(missing[0].kernels, 2U * 5);
  EXPECT_EQ(missing[0].instructions, 2U * 9);
}

TEST_F(Coverage, DamageIsAnErrorNeverACrash) {
  std::ifstream stream(kObject, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const std::string path = testing::TempDir() + "/coverage_damage.co";
  const auto cover_bytes = [&](const std::string& changed) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
    return cover_file(path);
  };
  EXPECT_NE(cover_bytes(bytes.substr(0, bytes.size() / 2)).error.status, Status::kOk);
  EXPECT_NE(cover_bytes("text").error.status, Status::kOk);
  EXPECT_NE(cover_bytes("").error.status, Status::kOk);
  EXPECT_NE(cover_file(path + ".missing").error.status, Status::kOk);
  for (size_t at = 0; at < bytes.size(); at += 37) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    const FileCoverage file = cover_bytes(changed);
    EXPECT_LE(file.complete(), file.kernels());
  }
}

}  // namespace
}  // namespace gfxgraph::tools
