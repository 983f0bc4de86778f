// gfxgraph export: a trace for other programs: JSON lines of everything, a timeline for Perfetto,
// recorded graphs for Graphviz, the code objects and their disassembly.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/cli/print.h"
#include "base/demangle.h"
#include "base/file/new_file.h"
#include "format/read/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/export/disassembly.h"
#include "tools/export/timeline.h"
#include "tools/read_limits.h"
#include "tools/text_sink.h"
#include "tools/trace/event_json.h"
#include "tools/trace/work_text.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

Json environment_json(const format::Trace& trace) {
  const format::Environment& environment = trace.environment();
  return {{"type", "trace"},
          {"schema", "gfxgraph-export/1"},
          {"gfxgraph_version", environment.gfxgraph_version},
          {"gpu_arch", environment.gpu_arch},
          {"device_name", environment.device_name},
          {"emulated", environment.emulated},
          {"hip_runtime_version", environment.hip_runtime_version},
          {"command_line", environment.command_line},
          {"start_unix_ns", environment.start_unix_ns},
          {"sealed", trace.sealed()},
          {"complete", trace.sealed() && trace.complete()},
          {"torn_reason", trace.torn_reason()}};
}

void write_lines(const format::Trace& trace, TextSink& sink) {
  const auto line = [&](const Json& json) { sink.write(one_line(json) + "\n"); };
  line(environment_json(trace));
  for (const format::CodeObject& code : trace.code_objects()) {
    line({{"type", "code_object"},
          {"code_object", code.id},
          {"target", code.target},
          {"elf", blob_name(code.elf)}});
  }
  for (const format::Kernel& kernel : trace.kernels()) {
    line({{"type", "kernel"},
          {"kernel", kernel.id},
          {"code_object", kernel.code_object},
          {"name", kernel.name},
          {"demangled", demangle(kernel.name)},
          {"kernarg_size_bytes", kernel.kernarg_size_bytes},
          {"explicit_size_bytes", kernel.explicit_size_bytes},
          {"group_segment_bytes", kernel.group_segment_bytes},
          {"private_segment_bytes", kernel.private_segment_bytes},
          {"arguments", arguments_json(kernel)}});
  }
  EventJson events(trace);
  for (const format::Graph& graph : trace.graphs()) line(events.graph(graph));
  for (const format::Event& event : trace.events()) line(events.event(event));
  for (const format::Finding& finding : trace.findings()) {
    Json json = {{"type", "finding"}};
    json.update(finding_json(finding));
    line(json);
  }
}

void write_timeline(const format::Trace& trace, TextSink& sink) {
  sink.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  bool first = true;
  for_each_timeline_event(trace, [&](const Json& event) {
    sink.write((std::exchange(first, false) ? "" : ",\n") + one_line(displayable(event)));
  });
  sink.write("\n]}\n");
}

// In double quotes, as the DOT language has it; a viewer obeys directions of text as terminals do.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

void write_graphs(const format::Trace& trace, format::GraphId only, TextSink& sink) {
  EventJson events(trace);
  for (const format::Graph& graph : trace.graphs()) {
    if (only != 0 && graph.id != only) continue;
    sink.write(fmt::format("digraph graph_{} {{\n  node [shape=box];\n", graph.id));
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const format::GraphNode& node = graph.nodes[i];
      sink.write(fmt::format("  n{} [label={}];\n", i, in_quotes(node_text(events, node))));
      for (const uint32_t from : node.dependencies)
        sink.write(fmt::format("  n{} -> n{};\n", from, i));
    }
    sink.write("}\n");
  }
}

// `input`: the path of the trace.
Result<void> write_code(const format::Trace& trace, const std::string& input,
                        const std::string& folder) {
  const auto path_of = [&](const format::CodeObject& code) {
    return fmt::format("{}/code_object_{}.co", folder, code.id);
  };
  for (const format::CodeObject& code : trace.code_objects()) {
    const std::string path = path_of(code);
    GFXGRAPH_TRY(check_distinct(std::span(&path, 1), std::span(&input, 1)));
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno("cannot make", folder, error.value());
  for (const format::CodeObject& code : trace.code_objects()) {
    const std::string path = path_of(code);
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(code.elf));
    GFXGRAPH_TRY(write_new_file(path, FileUse::kReport, elf));
    print("{}: {}, {}\n", path, code.target, format_bytes(elf.size()));
  }
  return {};
}

}  // namespace

int export_command(int argc, char** argv) {
  CLI::App app(
      "Writes a trace in a form that other programs read (docs/export.md):\n"
      "  perfetto     a timeline for ui.perfetto.dev or chrome://tracing\n"
      "  jsonl        everything but the bytes of buffers: a JSON object per line\n"
      "  dot          the recorded graphs, for Graphviz\n"
      "  code         the code objects, as files in the folder that -o names\n"
      "  disassembly  the instructions of the code objects, with their source lines\n\n"
      "Example: gfxgraph export app.gfxg --format perfetto -o app.json",
      "gfxgraph export");
  std::string path, format, output;
  format::GraphId graph = 0;
  ReadLimits limits;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_option("--format", format, "perfetto, jsonl, dot, code or disassembly")
      ->required()
      ->check(CLI::IsMember({"perfetto", "jsonl", "dot", "code", "disassembly"}));
  app.add_option("-o,--output", output, "file, or folder for code (default: standard output)");
  app.add_option("--graph", graph, "only this graph, with dot");
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("export", limits);
  if (format == "code" && output.empty()) {
    console::error("name a folder for the code objects with -o");
    return kExitUsage;
  }
  if (graph != 0 && format != "dot") {
    console::error("--graph goes with --format dot");
    return kExitUsage;
  }
  sandbox::Access access{.read = {path}};
  (format == "code" ? access.folders : access.write).emplace_back(output);
  if (const int code = enter_sandbox("export", no_sandbox, access); code >= 0) return code;

  if (const Result<void> fine = check_distinct(std::span(&output, 1), std::span(&path, 1)); !fine)
    return report(fine.error());
  Result<TextSink> sink = TextSink::open(format == "code" ? "" : output);
  if (!sink) return report(sink.error());
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + path);
  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true});
  progress->clear();
  if (!opened) return report(opened.error());
  describe(path, **opened);
  const format::Trace& trace = **opened;
  if (graph > trace.graphs().size()) {
    return report({Status::kNotFound, fmt::format("{} has no graph {}: there are {}", path, graph,
                                                  trace.graphs().size())});
  }
  if (format == "code") {
    if (const Result<void> written = write_code(trace, path, output); !written)
      return report(written.error());
  } else {
    if (format == "perfetto") write_timeline(trace, *sink);
    if (format == "jsonl") write_lines(trace, *sink);
    if (format == "dot") write_graphs(trace, graph, *sink);
    if (format == "disassembly") {
      if (const Result<void> written = write_disassembly(trace, *sink); !written)
        return report(written.error());
    }
    if (const Result<void> closed = sink->close(); !closed) return report(closed.error());
  }
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
