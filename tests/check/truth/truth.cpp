#include "tests/check/truth/truth.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace gfxgraph::check {
namespace {

struct Counts {
  unsigned planted = 0;
  unsigned found = 0;
  unsigned false_reports = 0;
  unsigned twins = 0;
};

bool counts(const Finding& finding) { return finding.severity != Severity::kNote; }

Report check_one(const Fault& fault, const std::string& kernel, const ToolSet& tools) {
  TraceBuilder trace(fault.object);
  fault.build(trace, kernel);
  CheckOptions options;
  options.threads = 1;
  options.selection.tools = tools;
  const Result<Report> report = trace.try_check(options);
  EXPECT_TRUE(report) << fault.name << ": " << report.error().message;
  return report ? *report : Report{};
}

void add(const Fault& fault, const ToolSet& tools, std::map<Tool, Counts>& by_tool) {
  Counts& total = by_tool[class_text(fault.expected).tool];
  ++total.planted;
  ++total.twins;
  bool found = false;
  const Report faulty = check_one(fault, fault.kernel, tools);
  for (const Finding& finding : faulty.findings) {
    if (!counts(finding)) continue;
    if (finding.finding_class == fault.expected && finding.kernel == fault.kernel) {
      found = true;
    } else if (std::ranges::find(fault.also, finding.finding_class) == fault.also.end()) {
      ++by_tool[class_text(finding.finding_class).tool].false_reports;
      ADD_FAILURE() << fault.name << ": something else is reported:\n" << render_text(faulty, "t");
    }
  }
  total.found += found;
  EXPECT_TRUE(found) << fault.name << ": not found:\n" << render_text(faulty, "t");
  const Report twin =
      check_one(fault, fault.twin.empty() ? fault.kernel + "_safe" : fault.twin, tools);
  for (const Finding& finding : twin.findings) {
    if (!counts(finding)) continue;
    ++by_tool[class_text(finding.finding_class).tool].false_reports;
    ADD_FAILURE() << fault.name << ": the twin is accused:\n" << render_text(twin, "t");
  }
  EXPECT_EQ(twin.failed_launches, 0U) << fault.name << ": " << render_text(twin, "t");
}

}  // namespace

ToolSet with_races() {
  ToolSet tools = kDefaultTools;
  tools[static_cast<size_t>(Tool::kRacecheck)] = true;
  return tools;
}

void check_all(const std::vector<Fault>& faults, const ToolSet& tools) {
  std::map<Tool, Counts> by_tool;
  for (const Fault& fault : faults) add(fault, tools, by_tool);
  for (const auto& [tool, total] : by_tool) {
    const double recall = total.planted == 0 ? 1 : double(total.found) / total.planted;
    const unsigned reports = total.found + total.false_reports;
    const double precision = reports == 0 ? 1 : double(total.found) / reports;
    std::printf("%s: %u planted, %u found (recall %.3f), %u false (precision %.3f), %u twins\n",
                tool_name(tool), total.planted, total.found, recall, total.false_reports, precision,
                total.twins);
    EXPECT_EQ(recall, 1.0) << tool_name(tool);
    EXPECT_EQ(precision, 1.0) << tool_name(tool);
  }
}

}  // namespace gfxgraph::check
