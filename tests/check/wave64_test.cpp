// The lane check of wave64 kernels, whose lanes are watched in two halves; and of registers that M0
// chooses, in both wave sizes.
#include <gmock/gmock.h>

#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

class Lanes : public testing::TestWithParam<unsigned> {
 protected:
  unsigned lanes() const { return GetParam(); }
  std::string object() const { return "wave" + std::to_string(lanes()) + ".bundle"; }
  // `count` items in workgroups of 128.
  Report run(const std::string& kernel, int count, bool second_input) {
    TraceBuilder trace(object());
    const uint64_t bytes = static_cast<uint64_t>(count) * 4;
    const auto a = trace.buffer(bytes, bytes);
    const auto b = trace.buffer(bytes, bytes);
    const auto c = trace.buffer(bytes, bytes);
    const auto groups = static_cast<uint32_t>((count + 127) / 128);
    if (second_input)
      trace.launch(kernel, groups, 128, {a, b, c, count});
    else
      trace.launch(kernel, groups, 128, {a, c, count});
    return trace.check(MaskedLaneMode::kError);
  }
};

TEST_P(Lanes, SafeGuardsAreClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const char* kernel : {"plain_guard", "clamped_guard"})
    for (const int count : {1000, 1015, 1023}) {
      const Report report = run(kernel, count, true);
      EXPECT_TRUE(report.findings.empty()) << kernel << "\n" << render_text(report, "t");
      EXPECT_TRUE(report.failed.empty()) << render_text(report, "t");
    }
}

TEST_P(Lanes, LateGuardIsNamedAtAllThreeAccesses) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  // 1000: the last wave64 has 40 active lanes, the last wave32 8.
  const Report report = run("late_guard", 1000, true);
  ASSERT_EQ(count_of(report, FindingClass::kW1), 3U) << render_text(report, "t");
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.workgroup[0], 7U);
    EXPECT_EQ(finding.wave, lanes() == 64 ? 1U : 3U);
    EXPECT_EQ(finding.lanes, lanes() == 64 ? 0xffffff0000000000U : 0xffffff00U);
    EXPECT_EQ(finding.exec, lanes() == 64 ? 0xffffffffffU : 0xffU);
    EXPECT_EQ(finding.events, 1U);
    EXPECT_EQ(finding.lanes_total, 24U);
  }
  EXPECT_THAT(render_text(report, "t"), testing::HasSubstr(lanes() == 64 ? "lanes 40-63" : "8-31"));
}

TEST_P(Lanes, OneEventForBothHalves) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  // 970: in wave64 lanes 10-63 of one wave are masked; a wave32 without active lanes branches.
  const Report report = run("late_guard", 970, true);
  ASSERT_EQ(count_of(report, FindingClass::kW1), 3U) << render_text(report, "t");
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.events, 1U);
    EXPECT_EQ(finding.lanes_total, lanes() == 64 ? 54U : 22U);
    EXPECT_EQ(finding.lanes, lanes() == 64 ? 0xfffffffffffffc00U : 0xfffffc00U);
  }
}

TEST_P(Lanes, ActiveLanesOutsideAreErrors) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace(object());
  const auto a = trace.buffer(100 * 4, 100 * 4);
  const auto c = trace.buffer(128 * 4, 128 * 4);
  trace.launch("no_guard", 1, 128, {a, c});
  const Report report = trace.check(MaskedLaneMode::kError);
  ASSERT_EQ(count_of(report, FindingClass::kE1), 1U) << render_text(report, "t");
  const Finding& finding = *first_of(report, FindingClass::kE1);
  EXPECT_EQ(finding.lanes, lanes() == 64 ? 0xfffffff000000000U : 0xfffffff0U);
  EXPECT_EQ(finding.lanes_total, 28U);
  EXPECT_TRUE(report.failed.empty());
}

TEST_P(Lanes, ALaneOfTheUpperHalfIsDefined) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  if (lanes() == 32) GTEST_SKIP() << "lane 40 is there in wave64 only";
  const Report report = run("from_lane", 1000, false);
  EXPECT_EQ(count_of(report, FindingClass::kW1), 1U) << render_text(report, "t");
}

TEST_P(Lanes, RelativeRegistersKeepWhatIsKnown) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const char* kernel : {"relative_destination", "relative_source", "relative_both"}) {
    const Report report = run(kernel, 1000, false);
    EXPECT_EQ(count_of(report, FindingClass::kW1), 1U) << kernel << "\n"
                                                       << render_text(report, "t");
  }
}

TEST_P(Lanes, RelativeRegistersDoNotMakeKnown) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = run("relative_undefined", 1000, false);
  EXPECT_EQ(count_of(report, FindingClass::kW1), 0U) << render_text(report, "t");
}

INSTANTIATE_TEST_SUITE_P(WaveSizes, Lanes, testing::Values(32U, 64U));

}  // namespace
}  // namespace gfxgraph::check
