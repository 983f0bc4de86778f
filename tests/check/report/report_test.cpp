#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "check/check.h"
#include "check/report/user_line.h"
#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
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

TEST(Report, PlacesInABufferCountFromItsStart) {
  Finding finding = sample_finding();
  finding.address = 0x7f0000000010;
  finding.nearest->distance_bytes = 16 - 4096;
  EXPECT_THAT(describe(finding),
              HasSubstr("address 0x7f0000000010, at byte 16 of buffer #3 (4096"));
  finding.address = 0x7f0000000ffe;
  finding.nearest->distance_bytes = -2;
  EXPECT_THAT(describe(finding), HasSubstr(", crosses the end from byte 4094 of buffer #3 (4096"));
}

TEST(Report, SarifHasSentences) {
  Report report;
  report.findings = {sample_finding()};
  const nlohmann::json json = nlohmann::json::parse(render_sarif(report, "t"));
  const std::string text = json["runs"][0]["results"][0]["message"]["text"];
  EXPECT_THAT(text,
              testing::StartsWith("An inactive lane has a computed address outside every live "
                                  "buffer. Lanes 20-31 inactive"));
  EXPECT_THAT(text, HasSubstr(". To fix it: Clamp the offset"));
  EXPECT_THAT(text, testing::EndsWith("."));
  for (const auto& rule : json["runs"][0]["tool"]["driver"]["rules"])
    EXPECT_THAT(std::string(rule["shortDescription"]["text"]), testing::MatchesRegex("[A-Z].*[.]"));
}

TEST(Report, HeadersAreNoUserLines) {
  EXPECT_TRUE(is_foreign_file("/usr/include/hip/amd_detail/amd_device_functions.h"));
  EXPECT_TRUE(is_foreign_file("/opt/rocm-6.4.3/include/hip/hip_runtime.h"));
  EXPECT_TRUE(is_foreign_file("/opt/venv/lib/python3/rocm/include/hip/amd_detail/amd_warp.h"));
  EXPECT_FALSE(is_foreign_file("/srv/hip/kernel.h"));
  EXPECT_FALSE(is_foreign_file("kernel.hip"));
  const codeobj::SourceLocation header{"/usr/include/hip/amd_detail/a.h", 3, 1, "f"};
  const codeobj::SourceLocation own{"k.hip", 7, 5, "k"};
  EXPECT_EQ(user_frame({header, header, own}), 2U);
  EXPECT_EQ(user_frame({own, header}), 0U);
  EXPECT_EQ(user_frame({header}), 0U);
  EXPECT_EQ(user_frame({}), 0U);
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
  EXPECT_THAT(text, HasSubstr("at masked_tail.hip:12:7 in saxpy(int)\n"));
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
  keep_for_schemas({{"tail.gfxg", report, ""}});
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

TEST(Report, HoldsTheCallsThatWereInlined) {
  Report report;
  report.findings = {sample_finding(), sample_finding()};
  report.places.resize(2);
  report.places[0].inline_stack = {
      *report.findings[0].source, {"tail.h", 40, 3, "load<float>(int)"}, {"", 0, 0, "saxpy_all"}};
  report.places[1].inline_stack = {*report.findings[1].source};
  const std::string text = render_text(report, "t");
  EXPECT_THAT(text, HasSubstr("    at masked_tail.hip:12:7 in saxpy(int)\n"
                              "    inlined at tail.h:40:3 in load<float>(int)\n"
                              "    inlined at an unknown line in saxpy_all\n"
                              "    first in"));
  const nlohmann::json json = nlohmann::json::parse(render_json(report, "t"));
  const auto& stack = json["findings"][0]["inline_stack"];
  ASSERT_EQ(stack.size(), 3U);
  EXPECT_EQ(stack[0], json["findings"][0]["source"]);
  EXPECT_EQ(
      stack[1],
      nlohmann::json(
          {{"file", "tail.h"}, {"line", 40}, {"column", 3}, {"function", "load<float>(int)"}}));
  EXPECT_EQ(stack[2]["line"], 0);
  EXPECT_EQ(json["findings"][1]["inline_stack"].size(), 1U);
  const nlohmann::json sarif = nlohmann::json::parse(render_sarif(report, "t"));
  const auto& result = sarif["runs"][0]["results"][0];
  const auto& frames = result["stacks"][0]["frames"];
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[1]["location"]["physicalLocation"]["region"]["startLine"], 40);
  EXPECT_EQ(frames[1]["location"]["logicalLocations"][0]["fullyQualifiedName"], "load<float>(int)");
  EXPECT_FALSE(frames[2]["location"].contains("physicalLocation"));
  EXPECT_FALSE(sarif["runs"][0]["results"][1].contains("stacks"));
}

TEST(Report, ShowsTheInstructionsOnRequest) {
  Report report;
  report.findings = {sample_finding()};
  report.places.resize(1);
  using Role = CodeLine::Role;
  report.places[0].code = {
      {0x1100, "v_lshlrev_b64 v[0:1], 2, v[0:1]", Role::kAddress, false},
      {0x1144, "s_waitcnt lgkmcnt(0)", Role::kNone, false},
      {0x1148, "global_load_dword v2, v[0:1], off", Role::kFinding, true},
  };
  EXPECT_THAT(render_text(report, "t"), Not(HasSubstr("v_lshlrev")));
  EXPECT_THAT(render_text(report, "t", true),
              HasSubstr("    *   0x1100  v_lshlrev_b64 v[0:1], 2, v[0:1]\n"
                        "          ...\n"
                        "        0x1144  s_waitcnt lgkmcnt(0)\n"
                        "    >   0x1148  global_load_dword v2, v[0:1], off\n"
                        "    fix:"));
  const nlohmann::json json = nlohmann::json::parse(render_json(report, "t"));
  const auto& lines = json["findings"][0]["disassembly"];
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["role"], "address");
  EXPECT_FALSE(lines[1].contains("role"));
  EXPECT_EQ(lines[2]["role"], "finding");
  EXPECT_EQ(lines[2]["instruction"], "global_load_dword v2, v[0:1], off");
}

TEST(Report, SeveralTracesAreOneDocument) {
  Report bad, good;
  bad.findings = {sample_finding()};
  bad.failed.push_back({2, 40, "k", "why"});
  bad.failed_launches = 1;
  const std::vector<TraceReport> traces = {{"bad.gfxg", bad, ""},
                                           {"gone.gfxg", std::nullopt, "open gone.gfxg: no"},
                                           {"good.gfxg", good, ""}};
  keep_for_schemas(traces);
  const std::string text = render_text(traces, false);
  EXPECT_THAT(text, HasSubstr("bad.gfxg: error W1"));
  EXPECT_THAT(text, HasSubstr("\ngone.gfxg: not checked: open gone.gfxg: no\n"));
  EXPECT_THAT(text, HasSubstr("\ngood.gfxg: 0 launches checked"));
  EXPECT_THAT(text, HasSubstr("\n2 traces checked, 1 not; 1 error, 0 warnings, 0 notes\n"));

  const nlohmann::json json = nlohmann::json::parse(render_json(traces));
  EXPECT_EQ(json["schema"], "gfxgraph-check-traces/1");
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["not_checked_traces"], 1);
  ASSERT_EQ(json["traces"].size(), 3U);
  EXPECT_EQ(json["traces"][0], nlohmann::json::parse(render_json(bad, "bad.gfxg")));
  EXPECT_EQ(json["traces"][1]["error"], "open gone.gfxg: no");

  const nlohmann::json sarif = nlohmann::json::parse(render_sarif(traces));
  ASSERT_EQ(sarif["runs"].size(), 1U);
  const auto& run = sarif["runs"][0];
  EXPECT_EQ(run["properties"]["traces"].size(), 3U);
  EXPECT_EQ(run["results"][0]["properties"]["trace"], "bad.gfxg");
  const auto& told = run["invocations"][0]["toolExecutionNotifications"];
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]["message"]["text"],
            "bad.gfxg: launch 2 of kernel k was not, or only partly, checked: why.");
  EXPECT_EQ(told[1]["message"]["text"], "gone.gfxg was not checked: open gone.gfxg: no.");
  EXPECT_EQ(run["invocations"][0]["executionSuccessful"], false);

  // As the document of one trace always was.
  EXPECT_EQ(render_json({traces[0]}), render_json(bad, "bad.gfxg"));
  EXPECT_EQ(render_text({traces[0]}, false), render_text(bad, "bad.gfxg"));
}

TEST(Report, ModesParse) {
  EXPECT_EQ(*parse_masked_lane_mode("literal"), MaskedLaneMode::kLiteral);
  EXPECT_FALSE(parse_masked_lane_mode("Error"));
}

TEST(Report, EveryClassHasTexts) {
  for (size_t i = 0; i < kFindingClasses; ++i) {
    const auto finding_class = static_cast<FindingClass>(i);
    const ClassText& text = class_text(finding_class);
    EXPECT_THAT(text.code, testing::MatchesRegex("[A-Z][1-9][0-9]?"));
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
}  // namespace gfxgraph::check
