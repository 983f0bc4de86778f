#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "lanecheck/check.h"

namespace gfxgraph::lanecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding sample_finding() {
  Finding finding;
  finding.finding_class = FindingClass::kW1;
  finding.severity = Severity::kError;
  finding.kernel = "saxpy";
  finding.code_address = 0x1148;
  finding.kernel_offset = 0x148;
  finding.mnemonic = "global_load_dword";
  finding.source = codeobj::SourceLocation{"masked_tail.hip", 12, 7, "saxpy(int)"};
  finding.events = 5;
  finding.lanes_total = 60;
  finding.launches = 1;
  finding.launch = 12;
  finding.workgroup = {3, 0, 0};
  finding.lanes = 0xfff00000;
  finding.exec = 0x000fffff;
  finding.address = 0x7f0000001040;
  finding.access_bytes = 4;
  finding.address_class = "unmapped";
  NearestBuffer nearest;
  nearest.allocation = 3;
  nearest.name = "buffer #3";
  nearest.address = 0x7f0000000000;
  nearest.size_bytes = nearest.mapped_bytes = 4096;
  nearest.distance_bytes = 64;
  finding.nearest = nearest;
  return finding;
}

TEST(Report, LaneRanges) {
  EXPECT_EQ(lane_ranges(0), "");
  EXPECT_EQ(lane_ranges(1), "0");
  EXPECT_EQ(lane_ranges(0xfff00000), "20-31");
  EXPECT_EQ(lane_ranges(0x8f), "0-3,7");
  EXPECT_EQ(lane_ranges(~0U), "0-31");
  EXPECT_EQ(lane_ranges(0x8000000180000000), "31-32,63");
  EXPECT_EQ(lane_ranges(~uint64_t{0}), "0-63");
}

TEST(Report, TextNamesEverythingThatIsNeededForTheFix) {
  Report report;
  report.findings = {sample_finding()};
  const std::string text = render_text(report, "tail.gfxg");
  EXPECT_THAT(text,
              HasSubstr("tail.gfxg: error W1: kernel saxpy, pc 0x1148 global_load_dword: lanes "
                        "20-31 inactive, address 0x7f0000001040 is 64 bytes past buffer #3 (4096 "
                        "bytes)"));
  EXPECT_THAT(text, HasSubstr("at masked_tail.hip:12 in saxpy(int)\n"));
  EXPECT_THAT(text,
              HasSubstr("first in launch 12, workgroup (3,0,0) wave 0; 5 events in 1 launch\n"));
  EXPECT_THAT(text, HasSubstr("fix: clamp the offset"));
  EXPECT_THAT(text, HasSubstr("1 error, 0 warnings, 0 notes"));
}

TEST(Report, TextNamesKernelsReadably) {
  Report report;
  report.findings = {sample_finding(), sample_finding()};
  report.findings[0].kernel = "_Z13add_unclampedPKfS0_Pfi";
  report.findings[1].kernel = "_Z5applyIPFvPfEEvT_S0_";
  const std::string text = render_text(report, "t");
  EXPECT_THAT(text, HasSubstr("kernel add_unclamped, pc"));
  EXPECT_THAT(text, HasSubstr("kernel void apply<void (*)(float*)>, pc"));
}

// Kernel and argument names of a trace end up in reasons and notes.
TEST(Report, NamesMakeNoLines) {
  Report report;
  report.failed = {{1, 2, "k\nt: error E1", "argument x\nt: error E1: \x1b[2J"}};
  report.notes = {"buffer y\nt: error E1"};
  report.failed_launches = 1;
  const std::string text = render_text(report, "t");
  EXPECT_THAT(text, Not(HasSubstr("\nt: error")));
  EXPECT_THAT(text, HasSubstr("argument x\\nt: error E1: \\x1b[2J\n"));
  EXPECT_THAT(text, HasSubstr("note: buffer y\\nt: error E1\n"));
}

TEST(Report, TextSaysWhenThereIsNoLine) {
  Report report;
  report.findings = {sample_finding()};
  report.findings[0].source.reset();
  EXPECT_THAT(render_text(report, "t"), HasSubstr("compile the kernel with -g"));
}

TEST(Report, JsonHoldsTheSame) {
  Report report;
  report.findings = {sample_finding()};
  report.findings[0].kernel = "bad\xff name";
  report.failed.push_back({2, 40, "k", "why"});
  const nlohmann::json json = nlohmann::json::parse(render_json(report, "tail.gfxg"));
  EXPECT_EQ(json["schema"], "gfxgraph-check/1");
  EXPECT_EQ(json["errors"], 1);
  const auto& finding = json["findings"][0];
  EXPECT_EQ(finding["class"], "W1");
  EXPECT_EQ(finding["first"]["lanes"], "20-31");
  EXPECT_EQ(finding["nearest"]["distance_bytes"], 64);
  EXPECT_EQ(finding["source"]["line"], 12);
  EXPECT_EQ(json["not_checked"][0]["launch"], 2);
}

TEST(Report, SarifHoldsRulesAndResults) {
  Report report;
  report.findings = {sample_finding(), sample_finding()};
  report.findings[0].source->file = "/a b/tail.hip";
  report.findings[1].source.reset();
  report.findings[1].suppressed_by = "known";
  report.failed.push_back({2, 40, "k", "why"});
  report.failed_launches = 1;
  const nlohmann::json json = nlohmann::json::parse(render_sarif(report, "tail.gfxg"));
  EXPECT_EQ(json["version"], "2.1.0");
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), kFindingClasses);
  ASSERT_EQ(run["results"].size(), 2U);
  const auto& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "W1");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"], "W1");
  EXPECT_EQ(result["level"], "error");
  const auto& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file:///a%20b/tail.hip");
  EXPECT_EQ(place["region"]["startLine"], 12);
  EXPECT_FALSE(result.contains("suppressions"));
  EXPECT_EQ(run["results"][1]["suppressions"][0]["justification"], "known");
  EXPECT_FALSE(run["results"][1]["locations"][0].contains("physicalLocation"));
  EXPECT_EQ(run["invocations"][0]["executionSuccessful"], false);
}

TEST(Report, ModesParse) {
  EXPECT_EQ(*parse_masked_lane_mode("literal"), MaskedLaneMode::kLiteral);
  EXPECT_FALSE(parse_masked_lane_mode("Error"));
}

TEST(Report, EveryClassHasTexts) {
  for (size_t i = 0; i < kFindingClasses; ++i) {
    const auto finding_class = static_cast<FindingClass>(i);
    const ClassText& text = class_text(finding_class);
    EXPECT_EQ(std::string(text.code).size(), 2U);
    EXPECT_FALSE(std::string(text.summary).empty());
    EXPECT_FALSE(std::string(text.fix).empty());
    EXPECT_EQ(find_class(text.code), finding_class);
    EXPECT_EQ(find_class(text.name), finding_class);
  }
  EXPECT_FALSE(find_class("Z9"));
  EXPECT_EQ(find_tool("lanes"), Tool::kLanes);
  EXPECT_FALSE(find_tool("thread"));
}

}  // namespace
}  // namespace gfxgraph::lanecheck
