#include "accelerate/hold/report.h"

#include <fmt/format.h>

#include <string_view>

namespace gfxgraph::accelerate {
namespace {

constexpr size_t kMostLines = 12;  // of sequences, for people

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\u{:04x}", byte);  // names of files and kernels may be anything
    } else {
      out += c;
    }
  }
  return out + '"';
}

const char* way_of(Phase phase) {
  switch (phase) {
    case Phase::kWatched:
    case Phase::kTried: return "measuring";
    case Phase::kGraph: return "graph";
    case Phase::kCalls: return "calls";
  }
  return "calls";
}

// Launches that no call of the runtime was made for.
uint64_t saved(const Report& report) {
  const uint64_t made = report.one_by_one + report.submits;
  return report.held > made ? report.held - made : 0;
}

}  // namespace

std::string report_text(const Report& report) {
  std::string text = fmt::format(
      "gfxgraph accelerate: {} launches looked at, {} held, {} submits as graphs ({:.0f} us), {} "
      "one "
      "by one\n  {} submits saved, {} nodes given other values, {} graphs made, {} destroyed\n",
      report.launches, report.held, report.submits, report.submit_us, report.one_by_one,
      saved(report), report.updates, report.graphs_made, report.graphs_destroyed);
  if (!report.stopped.empty()) text += fmt::format("  nothing held any more: {}\n", report.stopped);
  for (const auto& [why, count] : report.not_held)
    text += fmt::format("  not held: {}: {}\n", count, why);
  size_t lines = 0;
  for (const Report::Line& line : report.sequences) {
    if (++lines > kMostLines) break;
    const std::string changing =
        line.changing != 0 ? fmt::format(", {} of them changing", line.changing) : "";
    text += fmt::format("  sequence {}: {} launches{}, {}: {} ({} submits)\n", line.number,
                        line.launches, changing, way_of(line.phase), line.reason, line.submits);
  }
  if (report.sequences.size() > kMostLines)
    text += fmt::format("  and {} more\n", report.sequences.size() - kMostLines);
  return text;
}

std::string report_json(const Report& report, const std::string& program, int process) {
  std::string json = fmt::format(
      "{{\n  \"format\": \"gfxgraph-accelerate\",\n  \"version\": 1,\n  \"program\": {},\n"
      "  \"process\": {},\n  \"launches\": {},\n  \"held\": {},\n  \"submits\": {},\n"
      "  \"one_by_one\": {},\n  \"updates\": {},\n  \"graphs_made\": {},\n"
      "  \"graphs_destroyed\": {},\n  \"submit_us\": {:.3f},\n  \"stopped\": {},\n  \"not_held\": "
      "[",
      json_text(program), process, report.launches, report.held, report.submits, report.one_by_one,
      report.updates, report.graphs_made, report.graphs_destroyed, report.submit_us,
      json_text(report.stopped));
  const char* comma = "";
  for (const auto& [why, count] : report.not_held) {
    json +=
        fmt::format("{}\n    {{\"reason\": {}, \"launches\": {}}}", comma, json_text(why), count);
    comma = ",";
  }
  json += report.not_held.empty() ? "],\n  \"sequences\": [" : "\n  ],\n  \"sequences\": [";
  comma = "";
  for (const Report::Line& line : report.sequences) {
    json += fmt::format(
        "{}\n    {{\"number\": {}, \"launches\": {}, \"first_kernel\": {}, \"way\": \"{}\", "
        "\"reason\": {}, \"changing\": {}, \"held\": {}, \"submits\": {}, \"updates\": {}, "
        "\"early\": {}, \"overdue\": {}, \"busy\": {}, "
        "\"submit_us\": {:.3f}, \"calls_us\": {:.3f}, \"graph_us\": {:.3f}}}",
        comma, line.number, line.launches, json_text(line.first_kernel), way_of(line.phase),
        json_text(line.reason), line.changing, line.held, line.submits, line.updates, line.early,
        line.overdue, line.busy, line.submit_us, line.calls_us, line.graph_us);
    comma = ",";
  }
  json += report.sequences.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return json;
}

}  // namespace gfxgraph::accelerate
