#include "tools/info/dag_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/amount.h"
#include "base/cli/print.h"
#include "tools/info/report_head.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

using check::DataNode;
using check::DataOrderReport;

constexpr size_t kMostPairs = 20;

const char* kind_name(DataNode::Kind kind) {
  switch (kind) {
    case DataNode::Kind::kLaunch: return "launch";
    case DataNode::Kind::kCopy: return "copy";
    case DataNode::Kind::kMemset: return "memset";
    case DataNode::Kind::kHostWrite: return "host write";
  }
  return "unknown";
}

std::string node_text(const format::Trace& trace, const DataNode& node) {
  if (node.kind == DataNode::Kind::kLaunch)
    return format_printable("launch {} {}", node.launch, short_kernel_name(trace, node.kernel));
  return fmt::format("{}, event {}", kind_name(node.kind), node.event);
}

double overlap(const DataOrderReport& report) {
  return report.needed_path == 0
             ? 1
             : static_cast<double>(report.ordered_path) / static_cast<double>(report.needed_path);
}

std::string render_text(const format::Trace& trace, const DataOrderReport& report,
                        const std::string& name) {
  uint64_t needs = 0;
  for (const DataNode& node : report.nodes) needs += node.needs.size();
  std::string text =
      head_text(name, report.launches.size(), report.nodes.size() - report.launches.size(),
                "copies, memsets, host writes") +
      fmt::format(", {} by data\n", counted(needs, "dependency"));
  const auto list = [&](const char* what, const auto& pairs) {
    text += fmt::format("{}: {}\n", what, pairs.size());
    for (size_t n = 0; n < std::min(pairs.size(), kMostPairs); ++n)
      text += fmt::format("  {} -> {}\n", node_text(trace, report.nodes[pairs[n].first]),
                          node_text(trace, report.nodes[pairs[n].second]));
    if (pairs.size() > kMostPairs)
      text += fmt::format("  and {} more\n", pairs.size() - kMostPairs);
  };
  list("missing synchronisation (nothing orders launches that share data)", report.missing);
  list(fmt::format("unneeded order (of {} adjacent launches in a stream, those that share no data, "
                   "directly or through others)",
                   report.neighbours)
           .c_str(),
       report.unneeded);
  text += fmt::format(
      "longest chain: {} of {} wave instructions as the program orders launches, {} by their data "
      "({:.2f} times)\n",
      report.ordered_path, report.wave_instructions, report.needed_path, overlap(report));
  if (report.failed_launches != 0)
    text += format_printable("{} failed (first: {})\n", counted(report.failed_launches, "launch"),
                             report.failure);
  if (!report.stopped.empty()) text += format_printable("stopped: {}\n", report.stopped);
  return text;
}

std::string render_json(const format::Trace& trace, const DataOrderReport& report,
                        const std::string& name) {
  Json json = {{"schema", "gfxgraph-dag/1"}, {"trace", name}};
  json["nodes"] = Json::array();
  for (const DataNode& node : report.nodes) {
    Json one = {{"kind", kind_name(node.kind)}, {"event", node.event}};
    if (node.kind == DataNode::Kind::kLaunch) {
      one["launch"] = node.launch;
      one["kernel"] = short_kernel_name(trace, node.kernel);
      one["wave_instructions"] = node.wave_instructions;
    }
    one["stream"] = node.stream;
    one["read_bytes"] = node.read_bytes;
    one["written_bytes"] = node.written_bytes;
    one["needs"] = node.needs;
    json["nodes"].push_back(std::move(one));
  }
  json["missing"] = report.missing;
  json["unneeded"] = report.unneeded;
  json["neighbours"] = report.neighbours;
  json["wave_instructions"] = report.wave_instructions;
  json["ordered_path"] = report.ordered_path;
  json["needed_path"] = report.needed_path;
  json["failed_launches"] = report.failed_launches;
  json["stopped"] = report.stopped;
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

// Quotes and backslashes would end the label.
std::string label(std::string text) {
  std::ranges::replace(text, '"', '\'');
  std::ranges::replace(text, '\\', '/');
  return text;
}

std::string render_dot(const format::Trace& trace, const DataOrderReport& report) {
  std::string text = "digraph data {\n  node [shape=box];\n";
  for (size_t n = 0; n < report.nodes.size(); ++n) {
    text += fmt::format("  n{} [label=\"{}\"{}];\n", n, label(node_text(trace, report.nodes[n])),
                        report.nodes[n].kind == DataNode::Kind::kLaunch ? "" : ", style=dashed");
    for (const uint32_t before : report.nodes[n].needs) {
      const bool missing =
          std::ranges::find(report.missing, std::pair(before, static_cast<uint32_t>(n))) !=
          report.missing.end();
      text += fmt::format("  n{} -> n{}{};\n", before, n, missing ? " [color=red]" : "");
    }
  }
  for (const auto& [before, after] : report.unneeded)
    text += fmt::format("  n{} -> n{} [style=dotted, color=gray];\n", before, after);
  return text + "}\n";
}

}  // namespace

std::string render_dag(const format::Trace& trace, const DataOrderReport& report,
                       const std::string& name, const std::string& format) {
  if (format == "json") return render_json(trace, report, name);
  if (format == "dot") return render_dot(trace, report);
  return render_text(trace, report, name);
}

}  // namespace gfxgraph::tools
