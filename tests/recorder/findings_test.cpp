// What is found counts once it is known to be so, and is said once.
#include "recorder/model/findings.h"

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
  KernelEntry kernel;
  const HeldFinding found{FindingKind::kIncomplete, "fill", "argument 0", &kernel};
  const HeldFinding later{FindingKind::kIncomplete, "fill", "argument 1", &kernel};
  ASSERT_TRUE(findings.count({found, later}));
  EXPECT_THAT(said(findings).incomplete, SizeIs(1));
}

TEST(Findings, OfTheNextTraceAreItsOwn) {
  Findings findings;
  ASSERT_TRUE(findings.add_now(FindingKind::kNote, "threads", "side by side"));
  findings.ambiguous("argument 3 of fill");
  findings.ambiguous("argument 3 of fill");
  EXPECT_THAT(said(findings).ambiguous, ElementsAre("argument 3 of fill"));
  EXPECT_THAT(findings.take(), SizeIs(1));
  EXPECT_THAT(said(findings).notes, IsEmpty());
  EXPECT_THAT(said(findings).ambiguous, IsEmpty());
}

TEST(Findings, AreNotKeptWithoutEnd) {
  Findings findings;
  for (int i = 0; i < 5000; ++i)
    ASSERT_TRUE(findings.add_now(FindingKind::kNote, "call", std::to_string(i)));
  EXPECT_THAT(said(findings).notes, SizeIs(1000));
}

}  // namespace
}  // namespace gfxgraph::recorder
