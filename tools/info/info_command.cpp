// gfxgraph info: options, and which of its reports they ask for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/print.h"
#include "base/file/file.h"
#include "base/file/new_file.h"
#include "check/check.h"
#include "footprint/needed_order.h"
#include "format/read/reader.h"
#include "recorder/tool/manifest.h"
#include "replayer/program/identity.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/info/dag_report.h"
#include "tools/info/lint_report.h"
#include "tools/info/manifest_report.h"
#include "tools/info/order_report.h"
#include "tools/info/order_values.h"
#include "tools/info/ranges_report.h"
#include "tools/info/summary_report.h"
#include "tools/read_limits.h"
#include "tools/trace/trace_tables.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

struct InfoRequest {
  std::string path;
  Sections sections;  // of the summary
  bool kernels = false, launches = false, count = false;
  std::string table_format;  // not empty: only one table
  std::string dag;           // not empty: only that
  bool order = false;        // only that
  bool parameters = false;   // with that: for any values of these
  std::string order_file;    // not empty: the needed order for replays goes there
  bool lint_summary = false;
  bool json = false;
  ReadLimits limits;
  bool no_sandbox = false;

  check::BudgetLimits budget() const {
    return {limits.seconds, limits.instructions, limits.memory_bytes};
  }
  // The one table that is asked for; nothing: none is, or several are.
  std::optional<TableKind> only_table() const {
    if (kernels + launches + sections.buffers != 1) return std::nullopt;
    if (kernels) return TableKind::kKernels;
    return launches ? TableKind::kLaunches : TableKind::kBuffers;
  }
};

const std::map<std::string, TableFormat> kFormats = {
    {"table", TableFormat::kTable}, {"json", TableFormat::kJson}, {"csv", TableFormat::kCsv}};

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

int info_of_manifest(const InfoRequest& request, const Result<recorder::Manifest>& manifest) {
  const std::string& path = request.path;
  if (!manifest) return report({manifest.error().status, path + ": " + manifest.error().message});
  const Sections& sections = request.sections;
  if (sections.relocations || sections.ranges || sections.buffers || sections.lint ||
      request.kernels || request.launches) {
    console::error(fmt::format("{} is a manifest: give one of its traces for this option", path));
    return kExitUsage;
  }
  if (request.json) {
    write_text(stdout, recorder::manifest_text(*manifest));
  } else {
    print_manifest(path, *manifest);
  }
  return is_whole(*manifest) ? kExitOk : kExitDataLost;
}

// These four return `code` unless something else is worse.
int info_of_order(const InfoRequest& request, const format::Trace& trace, ProgressLine& progress,
                  int code) {
  const Result<check::DataOrderReport> order =
      check::order_by_data(trace, request.budget(), count_on(progress, "executing launch"));
  progress.clear();
  if (!order) return report(order.error());
  write_text(stdout, render_dag(trace, *order, request.path, request.dag));
  if (!order->stopped.empty()) return kExitDataLost;
  return order->failed_launches != 0 ? kExitFailed : code;
}

int info_of_proven_order(const InfoRequest& request,
                         const std::shared_ptr<const format::Trace>& opened, int code) {
  const format::Trace& trace = *opened;
  std::vector<footprint::OpenArgument> open;
  if (request.parameters) open = varying_arguments(trace);
  const Result<footprint::NeededOrder> order = footprint::needed_order(trace, {}, open);
  if (!order) return report(order.error());
  if (!request.order_file.empty()) {
    const auto program = replayer::Program::build(opened, UINT64_MAX);
    if (!program) return report(program.error());
    order::NeededEdges edges = footprint::needed_edges(*order);
    edges.trace = replayer::identity_of(**program);
    const std::vector<std::byte> bytes = order::to_bytes(edges);
    if (request.order_file == "-") {
      write_text(stdout, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      return code;
    }
    if (const auto written = write_new_file(request.order_file, FileUse::kReport, bytes); !written)
      return report(written.error());
    wrote(request.order_file);
  }
  write_text(stdout, render_order(trace, *order, request.path, request.json));
  return code;
}

int info_of_counted_kernels(const InfoRequest& request, const format::Trace& trace,
                            ProgressLine& progress, int code) {
  check::CheckOptions options;
  options.limits = request.budget();
  options.progress = count_on(progress, "executing launch");
  const Result<check::Report> ran = check::check_trace(trace, options);
  progress.clear();
  if (!ran) return report(ran.error());
  print_trace_table(trace, TableKind::kKernels, kFormats.at(request.table_format), &ran->kernels);
  if (ran->stopped) return report({Status::kIncomplete, "--count: " + ran->stopped->reason});
  if (ran->failed_launches == 0) return code;
  return report({Status::kUnsupported,
                 fmt::format("--count: {} did not end in the emulator; gfxgraph check says why",
                             counted(ran->failed_launches, "launch"))});
}

int info_of_trace(const InfoRequest& request, const std::shared_ptr<const format::Trace>& opened,
                  ProgressLine& progress, int code) {
  const format::Trace& trace = *opened;
  if (!request.dag.empty()) return info_of_order(request, trace, progress, code);
  if (request.order) return info_of_proven_order(request, opened, code);
  if (request.lint_summary) {
    print_lint_summary(trace, lint(trace, TraceSteps(trace)));
    return code;
  }
  if (request.count) return info_of_counted_kernels(request, trace, progress, code);
  if (!request.table_format.empty()) {
    print_trace_table(trace, *request.only_table(), kFormats.at(request.table_format));
  } else if (request.json) {
    print_summary_json(request.path, trace, request.sections);
  } else {
    print_summary(request.path, trace, request.sections);
  }
  return code;
}

void add_options(CLI::App& app, InfoRequest& request) {
  Sections& sections = request.sections;
  app.add_option("TRACE", request.path, "trace file or manifest")->required();
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
  app.add_flag("--kernels", request.kernels,
               "print a table of the kernels: launches, work items, registers, LDS");
  app.add_flag(
      "--launches", request.launches,
      "print a table of the launches in program order, graph nodes at each launch of their\n"
      "graph");
  app.add_option(
         "--format", request.table_format,
         "table, json or csv: print only one of --kernels, --launches and --buffers, in this\n"
         "format")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  app.add_flag("--count", request.count,
               "with --kernels: execute the launches in the emulator and add the instructions that "
               "the waves of each kernel executed, and their share");
  app.add_flag("--lint-summary", request.lint_summary,
               "print only a line of --lint for each of the first steps");
  app.add_option(
         "--dag", request.dag,
         "execute the launches in the emulator and print which need each other's data, what "
         "synchronisation is missing and which order is not needed: text, json or dot")
      ->check(CLI::IsMember({"text", "json", "dot"}));
  app.add_flag("--order", request.order,
               "print which order of the work is needed, by what the kernels' code can access:\n"
               "edges, longest chain, and what holds it together; executes nothing");
  app.add_flag(
      "--parameters", request.parameters,
      "with --order: find an order for any value of the arguments that differ between the\n"
      "iterations of a range, or of a period");
  app.add_option(
      "-o,--output", request.order_file,
      "with --order: also write the needed order to this file, for replays that keep it;\n"
      "-: to standard output, in place of the report");
  add_json(app, request.json);
  add_read_limits(app, request.limits);
  add_instruction_limit(app, request.limits);
  add_sandbox_option(app, request.no_sandbox);
}

// -1: they fit together.
int refuse_options(InfoRequest& request) {
  if (request.table_format.empty() && (request.kernels || request.launches))
    request.table_format = std::exchange(request.json, false) ? "json" : "table";
  if (!request.table_format.empty() && (!request.only_table() || request.json)) {
    console::error(
        "--format prints one of --kernels, --launches and --buffers; give exactly one of them, and "
        "not --json");
    return kExitUsage;
  }
  if ((!request.order_file.empty() || request.parameters) && !request.order) {
    console::error("-o and --parameters belong to --order");
    return kExitUsage;
  }
  if (request.count &&
      (request.table_format.empty() || request.only_table() != TableKind::kKernels)) {
    console::error("--count belongs to --kernels");
    return kExitUsage;
  }
  return -1;
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
  InfoRequest request;
  add_options(app, request);
  if (const int parsed = parse(app, argc, argv); parsed >= 0) return parsed;
  enforce("info", request.limits);
  if (const int refused = refuse_options(request); refused >= 0) return refused;

  const std::string& path = request.path;
  const std::string written = request.order_file == "-" ? "" : request.order_file;
  if (const Result<void> fine = check_distinct(std::span(&written, 1), std::span(&path, 1)); !fine)
    return report(fine.error());
  const sandbox::Access access{.read = {path},
                               .write = {written},
                               .programs = request.sections.lint || request.lint_summary};
  if (const int code = enter_sandbox("info", request.no_sandbox, access); code >= 0) return code;
  if (const auto manifest = read_manifest(path)) return info_of_manifest(request, *manifest);
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + path);
  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true, .pointers = format::PointerUse::kProven});
  progress->clear();
  if (!opened) return report(opened.error());
  describe(path, **opened);
  const bool whole = (*opened)->sealed() && (*opened)->complete();
  return info_of_trace(request, *opened, *progress, whole ? kExitOk : kExitDataLost);
}

}  // namespace gfxgraph::tools
