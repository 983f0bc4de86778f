// gfxgraph info: what a trace contains, as text or as JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text_table.h"
#include "format/reader.h"
#include "format/recover.h"
#include "lanecheck/check.h"
#include "recorder/tool/manifest.h"
#include "tools/ambiguous_report.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/dag_report.h"
#include "tools/event_json.h"
#include "tools/json_stream.h"
#include "tools/lint_report.h"
#include "tools/manifest_report.h"
#include "tools/ranges_report.h"
#include "tools/read_limits.h"
#include "tools/trace_buffers.h"
#include "tools/trace_summary.h"
#include "tools/trace_tables.h"
#include "tools/worker.h"

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
    print("  {:>8} x {}{}{}, by {}: {} ({})\n", site.count, relocation_source_name(site.source),
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
      visit({fmt::format("#{}", begin.id), std::string(allocation_kind_name(begin.kind)),
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
          {"kind", allocation_kind_name(begin.kind)},
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
          {"argument", site.argument}, {"source", relocation_source_name(site.source)},
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

// The sections that the command line adds to the summary.
struct Sections {
  bool relocations = false, ranges = false, buffers = false, lint = false, lint_summary = false;
  bool kernels = false, launches = false;  // as tables of their own
};

// The one table that is asked for; nothing: none is, or several are.
std::optional<TableKind> only_table(const Sections& sections) {
  const int asked = sections.kernels + sections.launches + sections.buffers;
  if (asked != 1) return std::nullopt;
  if (sections.kernels) return TableKind::kKernels;
  return sections.launches ? TableKind::kLaunches : TableKind::kBuffers;
}

std::vector<LintReport> lint(const format::Trace& trace, const TraceSteps& steps) {
  return lint_steps(trace, steps.ranges, steps.periods, steps.compared.comparisons);
}

void print_json(const std::string& path, const format::Trace& trace, const TraceSummary& summary,
                const Sections& sections) {
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

void print_text(const std::string& path, const format::Trace& trace, const TraceSummary& summary,
                const Sections& sections) {
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

// Nothing: the file is not one.
std::optional<Result<recorder::Manifest>> read_manifest(const std::string& path) {
  constexpr uint64_t kMostBytes = 64u << 20;
  std::string text(1, '\0');
  const Result<File> file = File::open_read(path);
  if (!file || !file->read_at(0, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  if (!recorder::looks_like_manifest(text)) return std::nullopt;
  const Result<std::vector<std::byte>> bytes = read_file(path, kMostBytes);
  if (!bytes) return tl::make_unexpected(bytes.error());
  text.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return recorder::parse_manifest(text);
}

int info_of_manifest(const std::string& path, const Result<recorder::Manifest>& manifest,
                     const Sections& sections, bool json) {
  if (!manifest) return report({manifest.error().status, path + ": " + manifest.error().message});
  if (sections.relocations || sections.ranges || sections.buffers || sections.lint ||
      sections.kernels || sections.launches) {
    console::error(fmt::format("{} is a manifest: give one of its traces for this option", path));
    return kExitUsage;
  }
  if (json) {
    write_text(stdout, recorder::manifest_text(*manifest));
  } else {
    print_manifest(path, *manifest);
  }
  return is_whole(*manifest) ? kExitOk : kExitDataLost;
}

}  // namespace

int info_command(int argc, char** argv) {
  CLI::App app(
      "Prints a summary of a trace. For a truncated trace it covers the intact part (exit code "
      "3).\n"
      "For a manifest of gfxgraph-record (NAME.manifest.json), lists its traces.\n"
      "On a terminal, long names in tables are shortened to fit its width.\n\n"
      "Example: gfxgraph info app.gfxg --relocations",
      "gfxgraph info");
  std::string path;
  ReadLimits limits;
  Sections sections;
  bool json = false, count = false;
  std::string dag;
  const std::map<std::string, TableFormat> formats = {
      {"table", TableFormat::kTable}, {"json", TableFormat::kJson}, {"csv", TableFormat::kCsv}};
  std::string table_format;
  app.add_option("TRACE", path, "trace file or manifest")->required();
  app.add_flag("--relocations", sections.relocations, "list every place that holds a pointer");
  app.add_flag(
      "--ranges", sections.ranges,
      "list the ranges that the program marked (roctx, hipProfilerStart, gfxgraph/record.h), "
      "their differences, and repeating steps if it marked none");
  app.add_flag(
      "--lint", sections.lint,
      "list operations that break the capture of the ranges into a graph or spoil its reuse");
  app.add_flag(
      "--buffers", sections.buffers,
      "list the program's memory by name (gfxgraph/record.h), symbol or allocating call, and the\n"
      "kernel argument that receives it first");
  app.add_flag("--kernels", sections.kernels,
               "print a table of the kernels: launches, work items, registers, LDS");
  app.add_flag(
      "--launches", sections.launches,
      "print a table of the launches in program order, graph nodes at each launch of their\n"
      "graph");
  app.add_option(
         "--format", table_format,
         "table, json or csv: print only one of --kernels, --launches and --buffers, in this\n"
         "format")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  app.add_flag("--count", count,
               "with --kernels: execute the launches in the emulator and add the instructions that "
               "the waves of each kernel executed, and their share");
  app.add_flag("--lint-summary", sections.lint_summary,
               "print only a line of --lint for each of the first steps");
  app.add_option(
         "--dag", dag,
         "execute the launches in the emulator and print which need each other's data, what "
         "synchronisation is missing and which order is not needed: text, json or dot")
      ->check(CLI::IsMember({"text", "json", "dot"}));
  add_json(app, json);
  add_read_limits(app, limits);
  add_instruction_limit(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int parsed = parse(app, argc, argv); parsed >= 0) return parsed;
  enforce("info", limits);
  const lanecheck::BudgetLimits budget{limits.seconds, limits.instructions, limits.memory_bytes};
  if (table_format.empty() && (sections.kernels || sections.launches))
    table_format = std::exchange(json, false) ? "json" : "table";
  if (!table_format.empty() && (!only_table(sections) || json)) {
    console::error(
        "--format prints one of --kernels, --launches and --buffers; give exactly one of them, and "
        "not --json");
    return kExitUsage;
  }

  if (count && (table_format.empty() || only_table(sections) != TableKind::kKernels)) {
    console::error("--count belongs to --kernels");
    return kExitUsage;
  }

  const sandbox::Access access{.read = {path}, .programs = sections.lint || sections.lint_summary};
  if (const int code = enter_sandbox("info", no_sandbox, access); code >= 0) return code;
  if (const auto manifest = read_manifest(path))
    return info_of_manifest(path, *manifest, sections, json);
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + path);
  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true, .pointers = format::PointerUse::kProven});
  progress->clear();
  if (!opened) return report(opened.error());
  describe(path, **opened);
  const format::Trace& trace = **opened;
  const int code = trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
  if (!dag.empty()) {
    const Result<lanecheck::DataOrderReport> order =
        lanecheck::order_by_data(trace, budget, count_on(*progress, "executing launch"));
    progress->clear();
    if (!order) return report(order.error());
    write_text(stdout, render_dag(trace, *order, path, dag));
    if (!order->stopped.empty()) return kExitDataLost;
    return order->failed_launches != 0 ? kExitFailed : code;
  }
  if (sections.lint_summary) {
    print_lint_summary(trace, lint(trace, TraceSteps(trace)));
    return code;
  }
  if (!table_format.empty()) {
    if (!count) {
      print_trace_table(trace, *only_table(sections), formats.at(table_format));
      return code;
    }
    lanecheck::CheckOptions options;
    options.limits = budget;
    options.progress = count_on(*progress, "executing launch");
    const Result<lanecheck::Report> ran = lanecheck::check_trace(trace, options);
    progress->clear();
    if (!ran) return report(ran.error());
    print_trace_table(trace, TableKind::kKernels, formats.at(table_format), &ran->kernels);
    if (ran->stopped) return report({Status::kIncomplete, "--count: " + ran->stopped->reason});
    if (ran->failed_launches == 0) return code;
    return report({Status::kUnsupported,
                   fmt::format("--count: {} did not end in the emulator; gfxgraph check says why",
                               counted(ran->failed_launches, "launch"))});
  }
  const TraceSummary summary = summarize(trace);
  if (json) {
    print_json(path, trace, summary, sections);
  } else {
    print_text(path, trace, summary, sections);
  }
  return code;
}

}  // namespace gfxgraph::tools
