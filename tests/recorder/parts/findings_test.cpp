// What is found counts once it is known to be so, and is said once.
#include "recorder/queue/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

using format::FindingKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Report said(const Findings& findings) {
  Report report;
  findings.add_to(report);
  return report;
}

TEST(Findings, OfACallThatIsRefusedDoNotCount) {
  Findings findings;
  HeldFindings held;
  {
    const Findings::Hold hold(findings, held);
    ASSERT_TRUE(findings.add({FindingKind::kIncomplete, "hipMemcpy", "somewhere"}));
  }
  EXPECT_THAT(said(findings).incomplete, IsEmpty());
  ASSERT_TRUE(findings.count(held));
  ASSERT_TRUE(findings.count(held));
  EXPECT_TRUE(findings.has("hipMemcpy", "somewhere"));
  EXPECT_FALSE(findings.has("hipMemcpy", "elsewhere"));
  EXPECT_THAT(said(findings).incomplete, SizeIs(1));
}

TEST(Findings, AboutUnknownPointersAreSaidOncePerKernel) {
  Findings findings;
  std::atomic<bool> found_before = false;  // of the kernel
  const HeldFinding found{FindingKind::kIncomplete, "fill", "argument 0", &found_before};
  const HeldFinding later{FindingKind::kIncomplete, "fill", "argument 1", &found_before};
  ASSERT_TRUE(findings.count({found, later}));
  EXPECT_THAT(said(findings).incomplete, SizeIs(1));
}

TEST(Findings, OfTheNextTraceAreItsOwn) {
  Findings findings;
  ASSERT_TRUE(findings.add_now(FindingKind::kNote, "threads", "side by side"));
  findings.ambiguous("fill", "argument 3");
  EXPECT_THAT(said(findings).ambiguous_kernels, SizeIs(1));
  EXPECT_THAT(findings.take(), SizeIs(1));
  EXPECT_THAT(said(findings).notes, IsEmpty());
  EXPECT_THAT(said(findings).ambiguous_kernels, IsEmpty());
}

TEST(Findings, AmbiguousArgumentsAreListedByKernel) {
  Findings findings;
  for (int launch = 0; launch < 3; ++launch) {
    findings.ambiguous("fill", "argument 3");
    findings.ambiguous("scale", "argument 1");
    findings.ambiguous("fill", "argument 5");
  }
  const Report report = said(findings);
  ASSERT_THAT(report.ambiguous_kernels, SizeIs(2));
  EXPECT_EQ(report.ambiguous_kernels[0].name, "fill");
  EXPECT_THAT(report.ambiguous_kernels[0].arguments, ElementsAre("argument 3", "argument 5"));
  EXPECT_THAT(report.ambiguous_kernels[1].arguments, ElementsAre("argument 1"));
}

TEST(Findings, AreNotKeptWithoutEnd) {
  Findings findings;
  for (int i = 0; i < 5000; ++i)
    ASSERT_TRUE(findings.add_now(FindingKind::kNote, "call", std::to_string(i)));
  EXPECT_THAT(said(findings).notes, SizeIs(1000));
}

}  // namespace
}  // namespace gfxgraph::recorder
