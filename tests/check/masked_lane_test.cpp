// The seed matrix: kernels that differ only in where EXEC narrows, over buffers whose last page
// ends with the buffer.
#include <gmock/gmock.h>

#include <set>

#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

constexpr int kCount = 1010;  // 14 lanes of the last wave are masked
constexpr uint64_t kMaskedBytes = kCount * 4;

Report run_three(const std::string& kernel, MaskedLaneMode mode, uint64_t mapped = kMaskedBytes) {
  TraceBuilder trace;
  const auto a = trace.buffer(kMaskedBytes, mapped);
  const auto b = trace.buffer(kMaskedBytes, mapped);
  const auto c = trace.buffer(kMaskedBytes, mapped);
  trace.launch(kernel, 16, 64, {a, b, c, kCount});
  return trace.check(mode);
}

TEST(MaskedLanes, PlainGuardIsClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = run_three("plain_guard", MaskedLaneMode::kError);
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
  EXPECT_FALSE(report.unsafe());
}

TEST(MaskedLanes, ClampedGuardIsClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = run_three("clamped_guard", MaskedLaneMode::kError);
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(MaskedLanes, LateGuardIsNamedAtAllThreeAccesses) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = run_three("late_guard", MaskedLaneMode::kError);
  ASSERT_EQ(count_of(report, FindingClass::kW1), 3U) << render_text(report, "t");
  EXPECT_TRUE(report.unsafe());
  EXPECT_EQ(report.findings.size(), 3U);
  unsigned writes = 0;
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.kernel, "late_guard");
    EXPECT_EQ(finding.severity, Severity::kError);
    EXPECT_EQ(finding.workgroup[0], 15U);
    EXPECT_EQ(finding.wave, 1U);
    EXPECT_EQ(finding.lanes, 0xfffc0000U);
    EXPECT_EQ(finding.exec, 0x0003ffffU);
    EXPECT_EQ(finding.events, 1U);
    EXPECT_EQ(finding.lanes_total, 14U);
    EXPECT_EQ(finding.access_bytes, 4U);
    EXPECT_EQ(finding.address_class, "unmapped");
    ASSERT_TRUE(finding.nearest);
    EXPECT_EQ(finding.nearest->distance_bytes, 0);
    EXPECT_EQ(finding.nearest->size_bytes, kMaskedBytes);
    EXPECT_EQ(finding.address, finding.nearest->address + kMaskedBytes);
    ASSERT_TRUE(finding.source);
    EXPECT_THAT(finding.source->file, testing::EndsWith("guards.hip"));
    EXPECT_THAT(finding.source->function, testing::HasSubstr("late_guard"));
    writes += finding.write;
  }
  EXPECT_EQ(writes, 1U);
}

TEST(MaskedLanes, NeighboursOfElementsAreClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(4096, 4096);
  const auto out = trace.buffer(4096, 4096);
  trace.launch("guarded_stencil", 16, 64, {a, out, 1024});
  const Report report = trace.check();
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(MaskedLanes, LoopGuardIsNamedAtTheLoad) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(100 * 4, 100 * 4);
  const auto out = trace.buffer(32 * 4, 32 * 4);
  trace.launch("loop_guard", 1, 32, {a, out, 100, 0});
  const Report report = trace.check();
  ASSERT_EQ(report.findings.size(), 1U) << render_text(report, "t");
  EXPECT_EQ(report.findings[0].finding_class, FindingClass::kW1);
  EXPECT_FALSE(report.findings[0].write);
  EXPECT_EQ(report.findings[0].lanes, 0xfffffff0U);
}

TEST(MaskedLanes, TwoGuardsAreClean) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4, 50 * 4);
  const auto c = trace.buffer(40 * 4, 40 * 4);
  trace.launch("two_guards", 2, 32, {a, c, 50, 40});
  const Report report = trace.check();
  EXPECT_EQ(count_of(report, FindingClass::kW1), 0U) << render_text(report, "t");
  EXPECT_FALSE(report.unsafe());
}

TEST(MaskedLanes, ModesChooseTheSeverity) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report warned = run_three("late_guard", MaskedLaneMode::kWarn);
  EXPECT_EQ(warned.count(Severity::kWarning), 3U);
  EXPECT_FALSE(warned.unsafe());
  const Report off = run_three("late_guard", MaskedLaneMode::kOff);
  EXPECT_TRUE(off.findings.empty());
  // Read literally, the rule condemns the plain guard as well.
  const Report literal = run_three("plain_guard", MaskedLaneMode::kLiteral);
  EXPECT_EQ(count_of(literal, FindingClass::kW1), 0U);
  EXPECT_GT(count_of(literal, FindingClass::kI1) + count_of(literal, FindingClass::kI2), 0U)
      << render_text(literal, "t");
  EXPECT_TRUE(literal.unsafe());
}

TEST(MaskedLanes, SlackIsANote) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report report = run_three("late_guard", MaskedLaneMode::kError, 0);  // to the page's end
  EXPECT_EQ(count_of(report, FindingClass::kW2), 3U) << render_text(report, "t");
  EXPECT_EQ(report.count(Severity::kNote), 3U);
  EXPECT_FALSE(report.unsafe());
}

TEST(MaskedLanes, LanesThatWereNeverLaunchedDoNotCount) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(20 * 4, 20 * 4);
  const auto b = trace.buffer(20 * 4, 20 * 4);
  const auto c = trace.buffer(20 * 4, 20 * 4);
  trace.launch("late_guard", 1, 20, {a, b, c, 20});  // lanes 20-31 are parked
  const Report report = trace.check(MaskedLaneMode::kLiteral);
  EXPECT_TRUE(report.findings.empty()) << render_text(report, "t");
}

TEST(MaskedLanes, LaunchesOfOneSiteAreOneFinding) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace;
  const auto a = trace.buffer(kMaskedBytes, kMaskedBytes);
  const auto b = trace.buffer(kMaskedBytes, kMaskedBytes);
  const auto c = trace.buffer(kMaskedBytes, kMaskedBytes);
  trace.launch("plain_guard", 16, 64, {a, b, c, kCount});
  for (int i = 0; i < 3; ++i) trace.launch("late_guard", 16, 64, {a, b, c, kCount});
  const Report report = trace.check();
  ASSERT_EQ(count_of(report, FindingClass::kW1), 3U) << render_text(report, "t");
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.launch, 1U);
    EXPECT_EQ(finding.launches, 3U);
    EXPECT_EQ(finding.events, 3U);
  }
}

// trace.check() compares with a check that watches all registers: here in code where it is not
// plain which of them reach an address.
TEST(MaskedLanes, WatchingFewerRegistersFindsTheSame) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  for (const MaskedLaneMode mode : {MaskedLaneMode::kError, MaskedLaneMode::kLiteral}) {
    TraceBuilder trace;
    const auto a = trace.buffer(50 * 4, 50 * 4);
    const auto b = trace.buffer(60 * 4, 60 * 4);
    const auto c = trace.buffer(50 * 4, 50 * 4);
    trace.launch("pointer_paths", 2, 64, {a, b, c, 20, 40});
    for (const int which : {1, 2, 3}) trace.launch("spilled_pointers", 2, 48, {a, c, 20, which});
    trace.launch("called_pointer", 2, 48, {a, c, 12, 0});
    const Report report = trace.check(mode);
    std::set<std::string> kernels;
    for (const Finding& finding : report.findings) kernels.insert(finding.kernel);
    EXPECT_EQ(kernels.count("pointer_paths"), 1U) << render_text(report, "t");
    EXPECT_EQ(kernels.count("spilled_pointers"), 1U) << render_text(report, "t");
    EXPECT_EQ(kernels.count("called_pointer"), 1U) << render_text(report, "t");
  }
}

}  // namespace
}  // namespace gfxgraph::check
