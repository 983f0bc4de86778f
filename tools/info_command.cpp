// gfxgraph info: what a trace contains, as text or as JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "format/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/trace_summary.h"

namespace gfxgraph::tools {
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
  fmt::print("{}\n", path);
  // What the missing end of a torn trace would say cannot be known.
  if (trace.sealed()) {
    fmt::print("  state        sealed, {}\n", trace.complete() ? "complete" : "incomplete");
  } else {
    fmt::print("  state        torn, incomplete: {}\n", trace.torn_reason());
  }
  fmt::print("  recorded by  gfxgraph {}\n", environment.gfxgraph_version);
  fmt::print("  program      {}\n", command_text(environment));
  fmt::print("  device       {} {}{}\n", environment.gpu_arch, environment.device_name,
             environment.emulated ? " (software agent)" : "");
  fmt::print("  HIP runtime  {}\n", version_text(environment.hip_runtime_version));
  fmt::print("  span         {:.3f} ms host time, {} thread{}, {} stream{}\n",
             static_cast<double>(summary.span_ns) / 1e6, summary.threads,
             summary.threads == 1 ? "" : "s", summary.streams, summary.streams == 1 ? "" : "s");
  fmt::print("  stored       {} in {} blobs of {}\n", format_bytes(statistics.stored_blob_bytes),
             statistics.blobs, format_bytes(statistics.blob_bytes));
}

void print_contents(const format::Trace& trace, const TraceSummary& summary) {
  fmt::print("\nevents\n");
  for (const auto& [name, count] : summary.events) fmt::print("  {:<17} {:>8}\n", name, count);
  fmt::print("\nallocations (peak {})\n", format_bytes(summary.peak_bytes));
  for (const auto& [name, kind] : summary.allocations) {
    fmt::print("  {:<17} {:>8}  {}\n", name, kind.count, format_bytes(kind.bytes));
  }
  if (!summary.copies.empty()) fmt::print("\ncopies\n");
  for (const auto& [name, direction] : summary.copies) {
    fmt::print("  {:<17} {:>8}  {}\n", name, direction.count, format_bytes(direction.bytes));
  }
  fmt::print("\nkernels ({} in {} code objects)\n", summary.kernels.size(),
             trace.code_objects().size());
  for (const KernelSummary& kernel : summary.kernels) {
    if (kernel.launches + kernel.graph_nodes == 0) continue;
    fmt::print("  {:>8} x {}", kernel.launches, demangle(kernel.kernel->name));
    if (kernel.graph_nodes != 0) fmt::print(" (+ {} graph nodes)", kernel.graph_nodes);
    fmt::print("\n");
  }
  if (!trace.graphs().empty()) fmt::print("\ngraphs\n");
  for (const format::Graph& graph : trace.graphs()) {
    fmt::print("  graph {:<11} {:>8} nodes\n", graph.id, graph.nodes.size());
  }
}

void print_relocations(const TraceSummary& summary, bool list) {
  const RelocationCounts& counts = summary.relocations;
  fmt::print("\nrelocations: {} typed, {} proven, {} matched, {} of these ambiguous\n",
             counts.typed, counts.proven, counts.matched, counts.ambiguous);
  constexpr size_t kMostAmbiguousLines = 20;
  size_t lines = 0;
  for (const RelocationSite& site : summary.sites) {
    if (!list && (!site.ambiguous || lines++ >= kMostAmbiguousLines)) continue;
    fmt::print("  {:>8} x {}{}{}: {} ({})\n", site.count, relocation_source_name(site.source),
               site.outside ? ", outside" : "", site.ambiguous ? ", ambiguous" : "", site.place,
               site.example);
  }
  if (!list && lines > kMostAmbiguousLines) {
    fmt::print("  and {} more ambiguous places: --relocations lists them\n",
               lines - kMostAmbiguousLines);
  }
}

void print_findings(const format::Trace& trace) {
  if (trace.findings().empty()) return;
  fmt::print("\nfindings\n");
  for (const format::Finding& finding : trace.findings()) {
    fmt::print("  {}: {} x {}{}{}\n",
               finding.kind == format::FindingKind::kIncomplete ? "incomplete" : "note",
               finding.count, finding.call, finding.detail.empty() ? "" : ": ", finding.detail);
  }
}

Json kernels_json(const TraceSummary& summary) {
  Json kernels = Json::array();
  for (const KernelSummary& entry : summary.kernels) {
    const format::Kernel& kernel = *entry.kernel;
    Json arguments = Json::array();
    for (const format::Argument& argument : kernel.arguments) {
      arguments.push_back({{"name", argument.name},
                           {"kind", argument.value_kind},
                           {"offset_bytes", argument.offset_bytes},
                           {"size_bytes", argument.size_bytes}});
    }
    kernels.push_back({{"id", kernel.id},
                       {"name", kernel.name},
                       {"demangled", demangle(kernel.name)},
                       {"code_object", kernel.code_object},
                       {"launches", entry.launches},
                       {"graph_nodes", entry.graph_nodes},
                       {"kernarg_size_bytes", kernel.kernarg_size_bytes},
                       {"explicit_size_bytes", kernel.explicit_size_bytes},
                       {"group_segment_bytes", kernel.group_segment_bytes},
                       {"private_segment_bytes", kernel.private_segment_bytes},
                       {"arguments", std::move(arguments)}});
  }
  return kernels;
}

Json relocations_json(const TraceSummary& summary) {
  Json sites = Json::array();
  for (const RelocationSite& site : summary.sites) {
    sites.push_back({{"place", site.place},
                     {"source", relocation_source_name(site.source)},
                     {"ambiguous", site.ambiguous},
                     {"outside", site.outside},
                     {"count", site.count},
                     {"example", site.example}});
  }
  const RelocationCounts& counts = summary.relocations;
  return {{"typed", counts.typed},
          {"proven", counts.proven},
          {"matched", counts.matched},
          {"ambiguous", counts.ambiguous},
          {"sites", std::move(sites)}};
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

void print_json(const std::string& path, const format::Trace& trace, const TraceSummary& summary) {
  Json allocations = Json::object(), copies = Json::object();
  for (const auto& [name, kind] : summary.allocations) {
    allocations[name] = {{"count", kind.count}, {"bytes", kind.bytes}};
  }
  for (const auto& [name, direction] : summary.copies) {
    copies[name] = {{"count", direction.count}, {"bytes", direction.bytes}};
  }
  Json graphs = Json::array(), findings = Json::array();
  for (const format::Graph& graph : trace.graphs()) {
    graphs.push_back({{"id", graph.id}, {"nodes", graph.nodes.size()}});
  }
  for (const format::Finding& finding : trace.findings()) {
    const bool incomplete = finding.kind == format::FindingKind::kIncomplete;
    findings.push_back({{"kind", incomplete ? "incomplete" : "note"},
                        {"call", finding.call},
                        {"count", finding.count},
                        {"detail", finding.detail}});
  }
  const format::Statistics& statistics = trace.statistics();
  const Json document = {{"path", path},
                         {"sealed", trace.sealed()},
                         {"torn_reason", trace.torn_reason()},
                         {"complete", trace.sealed() && trace.complete()},
                         {"environment", environment_json(trace.environment())},
                         {"events", summary.events},
                         {"threads", summary.threads},
                         {"streams", summary.streams},
                         {"span_ns", summary.span_ns},
                         {"allocations", std::move(allocations)},
                         {"peak_bytes", summary.peak_bytes},
                         {"copies", std::move(copies)},
                         {"blobs",
                          {{"count", statistics.blobs},
                           {"bytes", statistics.blob_bytes},
                           {"stored_bytes", statistics.stored_blob_bytes}}},
                         {"kernels", kernels_json(summary)},
                         {"graphs", std::move(graphs)},
                         {"relocations", relocations_json(summary)},
                         {"findings", std::move(findings)}};
  // A name recorded from a foreign program need not be UTF-8.
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int info_command(int argc, char** argv) {
  CLI::App app(
      "Says what a trace contains. A torn trace is described up to where it ends (exit code 3).\n\n"
      "Example: gfxgraph info app.gfxg --relocations",
      "gfxgraph info");
  std::string path;
  bool relocations = false, json = false;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_flag("--relocations", relocations, "list every place that holds a pointer");
  app.add_flag("--json", json, "print JSON");
  if (const int code = parse(app, argc, argv); code >= 0) return code;

  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true});
  if (!opened) return report(opened.error());
  const format::Trace& trace = **opened;
  const TraceSummary summary = summarize(trace);
  if (json) {
    print_json(path, trace, summary);
  } else {
    print_overview(path, trace, summary);
    print_contents(trace, summary);
    print_relocations(summary, relocations);
    print_findings(trace);
  }
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
