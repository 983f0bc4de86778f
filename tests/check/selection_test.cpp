// What a check is asked to report: tools, kernels, launches, suppressions, lines.
#include <gmock/gmock.h>

#include "check/report/baseline.h"
#include "check/report/grouping.h"
#include "check/report/suppression.h"
#include "tests/check/trace_builder.h"

namespace gfxgraph::check {
namespace {

using testing::HasSubstr;

TEST(Selection, Parses) {
  EXPECT_EQ(*parse_tools("lanes,memcheck"), (ToolSet{true, false, true}));
  EXPECT_EQ(*parse_tools("racecheck"), (ToolSet{false, false, false, true}));
  EXPECT_EQ(parse_tools("all")->size(), kTools);
  for (const char* wrong : {"", "memcheck,", "racecheck,nothing", "every"})
    EXPECT_FALSE(parse_tools(wrong)) << wrong;
  EXPECT_EQ(parse_launch_range("7")->first, 7U);
  EXPECT_EQ(parse_launch_range("7")->end, 8U);
  EXPECT_EQ(parse_launch_range("7:9")->end, 9U);
  EXPECT_EQ(parse_launch_range(":9")->first, 0U);
  EXPECT_EQ(parse_launch_range("7:")->end, UINT64_MAX);
  for (const char* wrong : {"", ":", "a", "9:7", "7:7", "1:2:3", "-1"})
    EXPECT_FALSE(parse_launch_range(wrong)) << wrong;
}

// Two faulty launches of each of two kernels, and one with an inactive lane.
Report check_some(const SelectionOptions& selection, std::string* error = nullptr) {
  TraceBuilder trace;
  const auto a = trace.buffer(50 * 4);
  const auto c = trace.buffer(64 * 4);
  const auto b = trace.buffer(1010 * 4, 1010 * 4);
  trace.launch("no_guard", 2, 32, {a, c, 50});
  trace.launch("scalar_index", 1, 32, {a, c, 60, 50});
  trace.launch("no_guard", 2, 32, {a, c, 50});
  trace.launch("scalar_index", 1, 32, {a, c, 60, 50});
  trace.launch("late_guard", 16, 64, {b, b, b, 1010});
  CheckOptions options;
  options.selection = selection;
  const Result<Report> report = trace.try_check(options);
  if (!report && error != nullptr) *error = report.error().message;
  return report ? *report : Report{};
}

TEST(Selection, OfToolsKernelsAndLaunches) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const Report all = check_some({});
  EXPECT_EQ(count_of(all, FindingClass::kE2), 2U) << render_text(all, "t");
  EXPECT_EQ(count_of(all, FindingClass::kW1), 3U);
  EXPECT_EQ(all.findings[0].launches, 2U);
  const Report lanes = check_some({.tools = {false, false, true}, .kernels = {}, .launches = {}});
  EXPECT_EQ(lanes.findings.size(), 3U) << render_text(lanes, "t");
  EXPECT_EQ(count_of(lanes, FindingClass::kW1), 3U);
  const Report kernel = check_some({.tools = kDefaultTools, .kernels = {"no_*"}, .launches = {}});
  ASSERT_EQ(kernel.findings.size(), 1U) << render_text(kernel, "t");
  EXPECT_EQ(kernel.findings[0].kernel, "no_guard");
  const Report launch = check_some({.tools = kDefaultTools, .kernels = {}, .launches = {{2, 4}}});
  ASSERT_EQ(launch.findings.size(), 2U) << render_text(launch, "t");
  EXPECT_EQ(launch.findings[0].launch, 2U);
  EXPECT_EQ(launch.findings[0].launches, 1U);
  EXPECT_EQ(launch.launches, 5U) << "all are executed";
}

TEST(Selection, RefusesWhatTheTraceDoesNotHave) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::string error;
  check_some({.tools = kDefaultTools, .kernels = {"*guard", "nobody"}, .launches = {}}, &error);
  EXPECT_THAT(error, HasSubstr("'nobody'"));
  check_some({.tools = kDefaultTools, .kernels = {}, .launches = {{5, 6}}}, &error);
  EXPECT_THAT(error, HasSubstr("launch 5 does not exist: the trace has 5"));
}

Finding at_line(const std::string& kernel, uint32_t line, uint64_t address, uint64_t launch) {
  Finding finding;
  finding.finding_class = FindingClass::kE2;
  finding.severity = Severity::kError;
  finding.kernel = kernel;
  finding.code_address = address;
  finding.source = codeobj::SourceLocation{"src/scale.hip", line, 3, "scale"};
  finding.events = 2;
  finding.lanes_total = 5;
  finding.access_bytes = 4;
  finding.launch = launch;
  finding.in_launches = {{launch, launch + 1}};
  finding.launches = 1;
  finding.places = {{address, address - 0x100, "global_load_dword", 2}};
  return finding;
}

TEST(Grouping, JoinsTheCopiesOfALine) {
  std::vector<Finding> findings = {at_line("k", 7, 0x120, 4), at_line("k", 8, 0x128, 4),
                                   at_line("k", 7, 0x110, 3), at_line("k", 7, 0x130, 4),
                                   at_line("l", 7, 0x300, 4)};
  findings.push_back(at_line("k", 7, 0x140, 3));
  findings.back().source.reset();
  group_by_line(findings);
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings[0].events, 6U);
  EXPECT_EQ(findings[0].lanes_total, 15U);
  EXPECT_EQ(findings[0].launches, 2U);
  EXPECT_EQ(findings[0].launch, 3U);
  EXPECT_EQ(findings[0].code_address, 0x110U);
  ASSERT_EQ(findings[0].places.size(), 3U);
  EXPECT_EQ(findings[0].places[2].code_address, 0x130U);
  Report report;
  report.findings = findings;
  EXPECT_THAT(render_text(report, "t"),
              HasSubstr("6 events in 2 launches, at 3 instructions of this line"));
}

TEST(Suppressions, MatchClassKernelAndLine) {
  const auto parsed = parse_suppressions(
      "# accepted\n\nE2 k scale.hip:7 -- the allocator pads\r\n"
      "past-the-end \"void apply<*>()\" -- why not\nE1 * -- never here",
      "accepted.txt");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 3U);
  Report report;
  report.findings = {at_line("k", 7, 0x110, 0), at_line("k", 8, 0x120, 0),
                     at_line("kk", 7, 0x130, 0), at_line("_Z5applyIiEvv", 9, 0x140, 0)};
  report.findings[0].source->file = "/x/scale.hip";
  apply_suppressions(*parsed, report);
  EXPECT_EQ(report.findings[0].suppressed_by, "the allocator pads");
  EXPECT_EQ(report.findings[1].suppressed_by, "");
  EXPECT_EQ(report.findings[2].suppressed_by, "");
  EXPECT_EQ(report.findings[3].suppressed_by, "why not");
  EXPECT_EQ(report.count(Severity::kError), 2U);
  EXPECT_EQ(report.count_suppressed(), 2U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes[0], HasSubstr("accepted.txt:5: suppresses nothing"));
  const std::string text = render_text(report, "t");
  EXPECT_THAT(text, HasSubstr("2 findings suppressed"));
  EXPECT_THAT(text, HasSubstr("2 errors"));
}

TEST(Suppressions, APathIsComparedInWholeParts) {
  Report report;
  report.findings = {at_line("k", 7, 0x110, 0)};
  for (const char* other : {"cale.hip:7", "scale.hip:8", "rc/scale.hip:7", "x/src/scale.hip:7"}) {
    apply_suppressions(*parse_suppressions(std::string("E2 k ") + other + " -- r", "f"), report);
    EXPECT_EQ(report.findings[0].suppressed_by, "") << other;
  }
  apply_suppressions(*parse_suppressions("E2 k src/scale.hip:7 -- r", "f"), report);
  EXPECT_EQ(report.findings[0].suppressed_by, "r");
}

TEST(Suppressions, BrokenLinesAreNamed) {
  for (const char* wrong : {"E2", "E2 k", "E2 k --", "E2 k -- ", "E99 k -- r", "E2 -- r",
                            "E2 k at.hip -- r", "E2 k at.hip:0 -- r", "E2 k at.hip:x -- r",
                            "E2 \"k -- r", "E2 k a:1 b:2 -- r", "E2 k :3 -- r"}) {
    const auto parsed = parse_suppressions(std::string("# fine\n") + wrong + "\n", "f.txt");
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message, testing::StartsWith("f.txt:2: ")) << wrong;
  }
}

TEST(Baseline, KnowsFindingsByLineOrPlace) {
  Report report;
  report.findings = {at_line("k", 7, 0x110, 0), at_line("k", 8, 0x120, 0),
                     at_line("j", 7, 0x130, 0), at_line("j", 9, 0x140, 0)};
  for (size_t n = 2; n < 4; ++n) {
    report.findings[n].source.reset();
    report.findings[n].kernel_offset = 16 * n;
  }
  report.calls.resize(4);
  const std::string all = render_json(report, "t");
  const auto known = parse_baseline(all, "earlier.json");
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->size(), 4U);
  apply_baseline({(*known)[0], (*known)[2]}, report);
  EXPECT_EQ(report.findings[0].suppressed_by, "in the baseline earlier.json");
  EXPECT_EQ(report.findings[1].suppressed_by, "");
  EXPECT_EQ(report.findings[2].suppressed_by, "in the baseline earlier.json");
  EXPECT_EQ(report.findings[3].suppressed_by, "");
}

TEST(Baseline, ReadsReportsOfSeveralTraces) {
  Report a, b;
  a.findings = {at_line("k", 7, 0x110, 0)};
  b.findings = {at_line("j", 8, 0x120, 0)};
  const auto known = parse_baseline(
      render_json({{"a", a, ""}, {"gone", std::nullopt, "why"}, {"b", b, ""}}), "earlier.json");
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_EQ(known->size(), 2U);
  apply_baseline(*known, b);
  EXPECT_EQ(b.findings[0].suppressed_by, "in the baseline earlier.json");
  EXPECT_FALSE(parse_baseline(R"({"schema": "gfxgraph-check-traces/1"})", "x"));
}

// A line that one of several traces needs is not reported.
TEST(Suppressions, AreNotedIfNoTraceNeedsThem) {
  Report a, b;
  a.findings = {at_line("k", 7, 0x110, 0)};
  const auto parsed = parse_suppressions("E2 k -- known\nE2 other -- gone\n", "f.txt");
  ASSERT_TRUE(parsed);
  a.findings[0].finding_class = FindingClass::kE2;
  std::vector<bool> used;
  suppress(*parsed, a, used);
  suppress(*parsed, b, used);
  note_unused(*parsed, used, b, "these traces");
  EXPECT_EQ(a.findings[0].suppressed_by, "known");
  EXPECT_TRUE(a.notes.empty());
  EXPECT_EQ(b.notes, std::vector<std::string>{"f.txt:2: suppresses nothing in these traces"});
}

}  // namespace
}  // namespace gfxgraph::check
