// The missing waits of a file's kernels, found without running them: kernels with one, and twins
// without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tools/coverage/coverage.h"

namespace gfxgraph::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

KernelWaits waits_of(const std::string& path) {
  const FileCoverage file = cover_file(path, {}, true);
  EXPECT_EQ(file.error.status, Status::kOk) << file.error.message;
  KernelWaits all;
  for (const ObjectCoverage& object : file.objects) {
    EXPECT_EQ(object.error, "");
    const KernelWaits waits = object.waits.value_or(KernelWaits());
    all.kernels += waits.kernels;
    all.findings.insert(all.findings.end(), waits.findings.begin(), waits.findings.end());
    all.incomplete.insert(all.incomplete.end(), waits.incomplete.begin(), waits.incomplete.end());
  }
  return all;
}
std::string texts_of(const KernelWaits& waits, const std::string& kernel) {
  std::string texts;
  for (const WaitFinding& finding : waits.findings)
    if (finding.kernel == kernel)
      texts += finding.at.instruction + ": " + wait_text(finding) + "\n";
  return texts;
}

class CoverageWaits : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = GFXGRAPH_COVERAGE_OBJECTS "/waits.co";
    if (!std::ifstream(path)) GTEST_SKIP() << "not assembled: " << path;
    waits_ = waits_of(path);
  }
  KernelWaits waits_;
};

TEST_F(CoverageWaits, FindsWhatIsMissing) {
  const std::map<std::string, std::string> expected = {
      {"argument",
       "v_add_nc_u32 v6, v5, v5: v5 is read before global_load_dword v5, v[0:1], off at "},
      {"result", "the function returns v7 before global_load_dword v7"},
      {"long_jump", "v_mov_b32 v6, v5: v5 is read before global_load_dword v5"},
      {"sampled", "v5 is overwritten before image_load at"},
      {"global_share", "v_mov_b32 v7, v5: v5 is read before ds_add_rtn_u32 v5"},
      {"read_late", "v1 is overwritten before ds_add_u32 v0, v1 gds at"},
      {"too_many", "v6 is read before global_load_dword v6"},
      {"other_condition", "v5 is overwritten before global_load_dword v5"},
      {"acquired", "buffer_gl1_inv: reached before global_load_dword v5"},
  };
  for (const auto& [kernel, text] : expected)
    EXPECT_THAT(texts_of(waits_, kernel), HasSubstr(text));
  for (const WaitFinding& finding : waits_.findings)
    EXPECT_TRUE(expected.contains(finding.kernel)) << finding.kernel << wait_text(finding);
}

TEST_F(CoverageWaits, NamesTheWaitThatIsNeeded) {
  EXPECT_THAT(texts_of(waits_, "too_many"), HasSubstr("it needs s_waitcnt vmcnt(1)\n"));
  EXPECT_THAT(texts_of(waits_, "argument"), HasSubstr("it needs s_waitcnt vmcnt(0)\n"));
  EXPECT_THAT(texts_of(waits_, "global_share"), HasSubstr("it needs s_waitcnt lgkmcnt(0)\n"));
  EXPECT_THAT(texts_of(waits_, "read_late"), HasSubstr("it needs s_waitcnt expcnt(0)\n"));
}

TEST_F(CoverageWaits, NamesWhatIsNotAnalysed) {
  std::map<std::string, std::string> reasons;
  for (const KernelWaits::Incomplete& kernel : waits_.incomplete)
    reasons[kernel.kernel] = kernel.why;
  EXPECT_THAT(reasons, testing::UnorderedElementsAre(
                           testing::Pair("unknown_jump", HasSubstr("known only at run time")),
                           testing::Pair("exports", HasSubstr("exports are not followed")),
                           testing::Pair("counts_by_register", HasSubstr("in a register")),
                           testing::Pair("not_code", HasSubstr("not a gfx1030 instruction"))));
}

// The kernels that the truth test of `gfxgraph check` runs, here with their source lines. What
// depends on the values of a run is found there alone.
TEST(CoverageWaitsOfCheck, AgreesWithTheTruthOfTheCheck) {
  const std::string path = GFXGRAPH_CHECK_OBJECTS "/waits.bundle";
  if (!std::ifstream(path)) GTEST_SKIP() << "not compiled: " << path;
  const KernelWaits waits = waits_of(path);
  EXPECT_THAT(waits.incomplete, testing::IsEmpty());
  std::set<std::string> found, only_in_lds;
  for (const WaitFinding& finding : waits.findings) {
    (finding.wait.flat || finding.wait.flat_load ? only_in_lds : found).insert(finding.kernel);
    ASSERT_TRUE(finding.at.source && finding.pending.source) << finding.kernel;
    EXPECT_THAT(finding.at.source->file, testing::EndsWith("waits.hip"));
    EXPECT_GT(finding.at.source->line, 1U);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre(
                         "vector_load", "second_load", "behind_store", "wrong_counter",
                         "overwritten", "scalar_load", "first_scalar", "lds_load", "chained",
                         "stored", "atomic_result", "loop", "not_reached", "not_reached_safe",
                         "scalar_twice", "two_counters", "load_to_lds", "flat_result", "half",
                         "half_overtaken", "whole_of_halves", "lds_store", "lds_atomic",
                         "memory_store", "fenced_store", "fenced_atomic", "acquired_load"));
}

TEST_F(CoverageWaits, DamageIsAnErrorNeverACrash) {
  std::ifstream stream(GFXGRAPH_COVERAGE_OBJECTS "/waits.co", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const std::string path = testing::TempDir() + "/waits_damage.co";
  for (size_t at = 0; at < bytes.size(); at += 29) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
    const FileCoverage file = cover_file(path, {}, true);
    for (const ObjectCoverage& object : file.objects)
      EXPECT_EQ(object.waits.has_value(), object.error.empty());
  }
}

}  // namespace
}  // namespace gfxgraph::tools
