#include "tools/info/lint_report.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/amount.h"
#include "base/cli/console.h"
#include "base/cli/print.h"
#include "tools/trace/call_places.h"

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

constexpr size_t kMostSites = 3;

void print_sites(const LintLine& line, CallPlaces& places) {
  if (line.sites.empty()) return;
  std::string text;
  for (size_t i = 0; i < std::min(line.sites.size(), kMostSites); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", places.text(line.sites[i].site));
    if (line.sites.size() > 1) text += " " + counted(line.sites[i].count, "time");
  }
  if (line.sites.size() > kMostSites) {
    text += fmt::format(" and {} more", line.sites.size() - kMostSites);
  }
  print("      {:<21} at {}\n", "", text);
}

void print_report(const LintReport& report, CallPlaces& places) {
  const char* const s = report.launches == 1 ? "" : "es";
  if (report.kind == LintReport::Kind::kTrace) {
    print("  whole trace: {} launch{}\n", report.launches, s);
  } else {
    print("  {}: {} iteration{}, {} launch{}{}\n", report.name, report.iterations,
          report.iterations == 1 ? "" : "s", report.launches, s,
          report.compared ? "" : "; no two iterations have the same shape, so changes are unknown");
  }
  if (report.lines.empty()) print("    nothing found\n");
  for (const LintLine& line : report.lines) {
    print("    {:<14} {:>6} x {}, first event {}: {}\n", severity_name(line.severity), line.count,
          line.what, line.first_event, line.why);
    print_sites(line, places);
  }
}

Json site_json(const LintSite& site, CallPlaces& places) {
  const CallPlace place = places.find(site.site);
  return {{"site", place.name},           {"count", site.count},    {"module", place.module},
          {"offset_bytes", place.offset}, {"symbol", place.symbol}, {"file", place.file},
          {"line", place.line},           {"from", place.caller}};
}

Json report_json(const LintReport& report, CallPlaces& places) {
  Json lines = Json::array();
  for (const LintLine& line : report.lines) {
    Json sites = Json::array();
    for (const LintSite& site : line.sites) sites.push_back(site_json(site, places));
    lines.push_back({{"severity", severity_name(line.severity)},
                     {"category", line.category},
                     {"what", line.what},
                     {"count", line.count},
                     {"first_event", line.first_event},
                     {"why", line.why},
                     {"sites", std::move(sites)}});
  }
  return {{"kind", kind_name(report.kind)},  {"name", report.name},
          {"iterations", report.iterations}, {"launches", report.launches},
          {"compared", report.compared},     {"lines", std::move(lines)}};
}

}  // namespace

std::vector<LintReport> lint(const format::Trace& trace, const TraceSteps& steps) {
  return lint_steps(trace, steps.ranges, steps.periods, steps.compared.comparisons);
}

void print_lint(const format::Trace& trace, const std::vector<LintReport>& reports) {
  CallPlaces places(trace);
  console::heading("graph readiness");
  for (const LintReport& report : reports) print_report(report, places);
}

void print_lint_summary(const format::Trace& trace, const std::vector<LintReport>& reports) {
  constexpr size_t kMostSteps = 2, kMostLines = 3;
  constexpr uint64_t kMostFileBytes = UINT64_C(256) << 20;
  CallPlaces places(trace, kMostFileBytes);
  size_t steps = 0;
  for (const LintReport& report : reports) {
    if (report.kind == LintReport::Kind::kTrace || steps++ >= kMostSteps) continue;
    std::string text;
    size_t lines = 0;
    for (const LintLine& line : report.lines) {
      if (line.severity == Severity::kSlows || ++lines > kMostLines) continue;
      text += fmt::format("{}{} x {}", text.empty() ? "" : "; ", line.count, line.what);
      if (!line.sites.empty()) text += " at " + places.text(line.sites[0].site);
    }
    if (lines > kMostLines) text += fmt::format("; and {} more", lines - kMostLines);
    print("graph readiness of {}: {}\n", report.name,
          text.empty() ? "nothing that breaks a capture or spoils its reuse" : text);
  }
}

void print_lint_json(JsonStream& json, const format::Trace& trace,
                     const std::vector<LintReport>& reports) {
  CallPlaces places(trace);
  json.list("lint", reports.size(), [&](size_t n) { return report_json(reports[n], places); });
}

nlohmann::ordered_json lint_json(const format::Trace& trace,
                                 const std::vector<LintReport>& reports) {
  CallPlaces places(trace);
  Json list = Json::array();
  for (const LintReport& report : reports) list.push_back(report_json(report, places));
  return list;
}

}  // namespace gfxgraph::tools
