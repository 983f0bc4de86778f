#include "tools/info/summary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/cli/text_table.h"
#include "format/names.h"
#include "format/read/recover.h"
#include "tools/cli.h"
#include "tools/info/ambiguous_report.h"
#include "tools/info/lint_report.h"
#include "tools/info/ranges_report.h"
#include "tools/trace/event_json.h"
#include "tools/trace/json_stream.h"
#include "tools/trace/trace_buffers.h"
#include "tools/trace/trace_summary.h"

namespace gfxgraph::tools {

using namespace ranges;
namespace {

using Json = nlohmann::ordered_json;

std::string version_text(int32_t version) {
  if (version <= 0) return "unknown";
  return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

std::string command_text(const format::Environment& environment) {
  std::string text;
  for (const std::string& word : environment.command_line) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text.empty() ? "(redacted)" : text;
}

void print_overview(const std::string& path, const format::Trace& trace,
                    const TraceSummary& summary) {
  const format::Environment& environment = trace.environment();
  const format::Statistics& statistics = trace.statistics();
  print("{}\n", path);
  // The missing end of a truncated trace may hold more.
  if (trace.sealed()) {
    print("  state        sealed, {}\n", trace.complete() ? "complete" : "incomplete");
  } else {
    print("  state        truncated, incomplete: {}\n", trace.torn_reason());
  }
  print("  recorded by  gfxgraph {}\n", environment.gfxgraph_version);
  print("  program      {}\n", command_text(environment));
  print("  device       {} {}{}\n", environment.gpu_arch, environment.device_name,
        environment.emulated ? " (software agent)" : "");
  print("  HIP runtime  {}\n", version_text(environment.hip_runtime_version));
  print("  span         {:.3f} ms host time, {}, {}\n", static_cast<double>(summary.span_ns) / 1e6,
        counted(summary.threads, "thread"), counted(summary.streams, "stream"));
  if (!trace.devices().empty()) print("  devices      {}\n", 1 + trace.devices().size());
  print("  stored       {} in {} of {}\n", format_bytes(statistics.stored_blob_bytes),
        counted(statistics.blobs, "blob"), format_bytes(statistics.blob_bytes));
}

void print_contents(const format::Trace& trace, const TraceSummary& summary) {
  console::heading("events");
  for (const auto& [name, count] : summary.events) print("  {:<17} {:>8}\n", name, count);
  console::heading(fmt::format("allocations (peak {})", format_bytes(summary.peak_bytes)));
  for (const auto& [name, kind] : summary.allocations) {
    print("  {:<17} {:>8}  {}{}\n", name, kind.count, format_bytes(kind.bytes),
          kind.unwritten == 0 ? "" : fmt::format(", {} begin unwritten", kind.unwritten));
  }
  if (!summary.copies.empty()) console::heading("copies");
  for (const auto& [name, direction] : summary.copies) {
    print("  {:<17} {:>8}  {}\n", name, direction.count, format_bytes(direction.bytes));
  }
  console::heading(fmt::format("kernels ({} in {})", summary.kernels.size(),
                               counted(trace.code_objects().size(), "code object")));
  for (const KernelSummary& kernel : summary.kernels) {
    if (kernel.launches + kernel.graph_nodes == 0) continue;
    const std::string more =
        kernel.graph_nodes == 0 ? ""
                                : fmt::format(" (+ {})", counted(kernel.graph_nodes, "graph node"));
    const size_t columns = terminal_columns(stdout), taken = 13 + more.size();
    std::string name = printable(demangle(kernel.kernel->name));
    if (columns != 0) name = shortened_name(name, std::max(columns, taken + 16) - taken);
    print("  {:>8} x {}{}\n", kernel.launches, name, more);
  }
  if (!trace.graphs().empty()) console::heading("graphs");
  for (const format::Graph& graph : trace.graphs()) {
    print("  graph {:<11} {:>8} nodes\n", graph.id, graph.nodes.size());
  }
}

void print_relocations(const format::Trace& trace, const TraceSummary& summary, bool list) {
  const RelocationCounts& counts = summary.relocations;
  print("\nrelocations: {} typed, {} proven, {} matched, {} of these ambiguous\n", counts.typed,
        counts.proven, counts.matched, counts.ambiguous);
  if (const uint64_t data = count_data(trace.provenance()))
    print("  proven to be data: {} that look like addresses\n", counted(data, "word"));
  if (!list) {
    for (const std::string& line : ambiguous_lines(summary)) print("  {}\n", line);
    return;
  }
  for (const RelocationSite& site : summary.sites) {
    print("  {:>8} x {}{}{}, by {}: {} ({})\n", site.count, name_of(site.source).key,
          site.code      ? ", code"
          : site.outside ? ", outside"
                         : "",
          site.ambiguous ? ", ambiguous" : "", site.reason, site.place, site.example);
  }
}

std::string buffer_text(const BufferSummary& buffer) {
  if (buffer.name.empty() || buffer.used_by.empty()) return buffer.name + buffer.used_by;
  return fmt::format("{}, {}", buffer.name, buffer.used_by);
}

void print_buffers(const std::vector<BufferSummary>& buffers, uint64_t events) {
  if (buffers.empty()) return print("\nbuffers: none\n");
  console::heading(fmt::format("buffers: {}", buffers.size()));
  const auto rows = [&](const TextTable::Visit& visit) {
    for (const BufferSummary& buffer : buffers) {
      const format::AllocationBegin& begin = *buffer.begin;
      visit({fmt::format("#{}", begin.id), std::string(name_of(begin.kind).key),
             fmt::format("{}", begin.size_bytes), fmt::format("{:#x}", begin.recorded_address),
             fmt::format("{}..{}", buffer.first_event,
                         buffer.end_event == events ? "" : fmt::format("{}", buffer.end_event)),
             fmt::format("{}", buffer.launches),
             " " + printable(buffer_text(buffer)) +
                 (begin.initial.unwritten ? "  (unwritten)"
                  : begin.initial.stored  ? ""
                                          : "  (content not in the trace)")});
    }
  };
  const TextTable table({{.name = "id", .right = true, .least = 6},
                         {.name = "kind", .least = 17},
                         {.name = "bytes", .right = true, .least = 12},
                         {.name = "address", .right = true, .least = 18},
                         {.name = "events", .right = true, .least = 15},
                         {.name = "launches", .right = true, .least = 8},
                         {.name = " name, first argument", .shorten = true}},
                        rows, terminal_columns(stdout), 2, 1);
  write_text(stdout, table.heading() + "\n");
  rows([&](const TextRow& row) { write_text(stdout, table.line(row) + "\n"); });
}

Json buffer_json(const BufferSummary& buffer) {
  const format::AllocationBegin& begin = *buffer.begin;
  return {{"id", begin.id},
          {"name", buffer.name},
          {"name_source", name_source_name(buffer.name_source)},
          {"used_by", buffer.used_by},
          {"kind", name_of(begin.kind).key},
          {"size_bytes", begin.size_bytes},
          {"recorded_address", begin.recorded_address},
          {"first_event", buffer.first_event},
          {"end_event", buffer.end_event},
          {"launches", buffer.launches},
          {"content_known", begin.initial.stored},
          {"unwritten", begin.initial.unwritten}};
}

void print_findings(const format::Trace& trace) {
  if (trace.findings().empty()) return;
  console::heading("findings");
  for (const format::Finding& finding : trace.findings()) {
    if (format::is_cut(finding)) {
      print("  incomplete: cut off: {}\n", finding.detail);
      continue;
    }
    print("  {}: {} x {}{}{}\n",
          finding.kind == format::FindingKind::kIncomplete ? "incomplete" : "note", finding.count,
          finding.call, finding.detail.empty() ? "" : ": ", finding.detail);
  }
}

Json kernel_json(const KernelSummary& entry) {
  const format::Kernel& kernel = *entry.kernel;
  return {{"id", kernel.id},
          {"name", kernel.name},
          {"demangled", demangle(kernel.name)},
          {"code_object", kernel.code_object},
          {"launches", entry.launches},
          {"graph_nodes", entry.graph_nodes},
          {"kernarg_size_bytes", kernel.kernarg_size_bytes},
          {"explicit_size_bytes", kernel.explicit_size_bytes},
          {"group_segment_bytes", kernel.group_segment_bytes},
          {"private_segment_bytes", kernel.private_segment_bytes},
          {"arguments", arguments_json(kernel)}};
}

// The kernel by its number: a name may have megabytes, and the list of kernels has it.
Json site_json(const RelocationSite& site) {
  return {{"place", site.place},       {"kernel_id", site.kernel},
          {"argument", site.argument}, {"source", name_of(site.source).key},
          {"reason", site.reason},     {"ambiguous", site.ambiguous},
          {"outside", site.outside},   {"code", site.code},
          {"count", site.count},       {"example", site.example}};
}

void print_relocations_json(JsonStream& json, const format::Trace& trace,
                            const TraceSummary& summary) {
  const RelocationCounts& counts = summary.relocations;
  json.object("relocations", [&](JsonStream& fields) {
    fields.field("typed", counts.typed);
    fields.field("proven", counts.proven);
    fields.field("matched", counts.matched);
    fields.field("ambiguous", counts.ambiguous);
    if (trace.provenance().made) fields.field("data", count_data(trace.provenance()));
    fields.list("sites", summary.sites.size(),
                [&](size_t n) { return site_json(summary.sites[n]); });
  });
}

Json environment_json(const format::Environment& environment) {
  return {{"gfxgraph_version", environment.gfxgraph_version},
          {"gpu_arch", environment.gpu_arch},
          {"device_name", environment.device_name},
          {"emulated", environment.emulated},
          {"hip_runtime_version", environment.hip_runtime_version},
          {"hip_driver_version", environment.hip_driver_version},
          {"command_line", environment.command_line},
          {"start_unix_ns", environment.start_unix_ns}};
}

}  // namespace

void print_summary_json(const std::string& path, const format::Trace& trace,
                        const Sections& sections) {
  const TraceSummary summary = summarize(trace);
  Json allocations = Json::object(), copies = Json::object();
  for (const auto& [name, kind] : summary.allocations) {
    allocations[name] = {
        {"count", kind.count}, {"bytes", kind.bytes}, {"unwritten", kind.unwritten}};
  }
  for (const auto& [name, direction] : summary.copies) {
    copies[name] = {{"count", direction.count}, {"bytes", direction.bytes}};
  }
  const format::Statistics& statistics = trace.statistics();
  JsonStream json;
  json.field("schema", "gfxgraph-info/1");
  json.field("path", path);
  json.field("sealed", trace.sealed());
  json.field("torn_reason", trace.torn_reason());
  json.field("complete", trace.sealed() && trace.complete());
  json.field("environment", environment_json(trace.environment()));
  json.field("events", summary.events);
  json.field("threads", summary.threads);
  json.field("streams", summary.streams);
  if (!trace.devices().empty()) json.field("devices", 1 + trace.devices().size());
  json.field("span_ns", summary.span_ns);
  json.field("allocations", allocations);
  json.field("peak_bytes", summary.peak_bytes);
  json.field("copies", copies);
  json.field("blobs", {{"count", statistics.blobs},
                       {"bytes", statistics.blob_bytes},
                       {"stored_bytes", statistics.stored_blob_bytes}});
  json.list("kernels", summary.kernels.size(),
            [&](size_t n) { return kernel_json(summary.kernels[n]); });
  json.list("graphs", trace.graphs().size(), [&](size_t n) -> Json {
    return {{"id", trace.graphs()[n].id}, {"nodes", trace.graphs()[n].nodes.size()}};
  });
  print_relocations_json(json, trace, summary);
  const std::vector<BufferSummary> buffers = summarize_buffers(trace);
  json.list("buffers", buffers.size(), [&](size_t n) { return buffer_json(buffers[n]); });
  if (sections.ranges || sections.lint) {
    const TraceSteps steps(trace);
    print_ranges_json(json, steps.ranges);
    if (sections.ranges) print_steps_json(json, trace, steps);
    if (sections.lint) print_lint_json(json, trace, lint(trace, steps));
  } else {
    print_ranges_json(json, summarize_ranges(trace));
  }
  json.list("findings", trace.findings().size(),
            [&](size_t n) { return finding_json(trace.findings()[n]); });
  json.end();
}

void print_summary(const std::string& path, const format::Trace& trace, const Sections& sections) {
  const TraceSummary summary = summarize(trace);
  print_overview(path, trace, summary);
  print_contents(trace, summary);
  print_relocations(trace, summary, sections.relocations);
  if (sections.buffers) print_buffers(summarize_buffers(trace), trace.events().size());
  if (sections.ranges || sections.lint) {
    const TraceSteps steps(trace);
    if (sections.ranges) print_steps(trace, steps);
    if (sections.lint) print_lint(trace, lint(trace, steps));
  } else {
    print_range_count(summarize_ranges(trace));
  }
  print_findings(trace);
}

}  // namespace gfxgraph::tools
