#include "tools/lint_report.h"

#include <string>

#include "base/print.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(LintReport::Kind kind) {
  switch (kind) {
    case LintReport::Kind::kRange: return "range";
    case LintReport::Kind::kPeriod: return "period";
    case LintReport::Kind::kTrace: return "trace";
  }
  return "";
}

void print_report(const LintReport& report) {
  const char* const s = report.launches == 1 ? "" : "es";
  if (report.kind == LintReport::Kind::kTrace) {
    print("  whole trace: {} launch{}\n", report.launches, s);
  } else {
    print("  {}: {} iteration{}, {} launch{}{}\n", report.name, report.iterations,
          report.iterations == 1 ? "" : "s", report.launches, s,
          report.compared ? "" : "; no two iterations of one shape: changes are not known");
  }
  if (report.lines.empty()) print("    nothing found\n");
  for (const LintLine& line : report.lines) {
    print("    {:<14} {:>6} x {}, first event {}: {}\n", severity_name(line.severity), line.count,
          line.what, line.first_event, line.why);
  }
}

Json report_json(const LintReport& report) {
  Json lines = Json::array();
  for (const LintLine& line : report.lines) {
    lines.push_back({{"severity", severity_name(line.severity)},
                     {"category", line.category},
                     {"what", line.what},
                     {"count", line.count},
                     {"first_event", line.first_event},
                     {"why", line.why}});
  }
  return {{"kind", kind_name(report.kind)},  {"name", report.name},
          {"iterations", report.iterations}, {"launches", report.launches},
          {"compared", report.compared},     {"lines", std::move(lines)}};
}

}  // namespace

void print_lint(const std::vector<LintReport>& reports) {
  print("\ngraph readiness\n");
  for (const LintReport& report : reports) print_report(report);
}

void print_lint_json(JsonStream& json, const std::vector<LintReport>& reports) {
  json.list("lint", reports.size(), [&](size_t n) { return report_json(reports[n]); });
}

}  // namespace gfxgraph::tools
