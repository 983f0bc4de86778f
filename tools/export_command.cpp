// gfxgraph export: a trace for other programs: JSON lines of everything, a timeline for Perfetto,
// recorded graphs for Graphviz, and the code objects.
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

#include "base/demangle.h"
#include "base/file.h"
#include "base/output.h"
#include "base/print.h"
#include "format/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/event_json.h"
#include "tools/read_limits.h"
#include "tools/timeline.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

// Text to standard output, or to a file that is not left behind if it could not be written whole.
class Sink {
 public:
  static Result<Sink> open(const std::string& path) {
    if (path.empty()) return Sink(stdout, path);
    GFXGRAPH_TRY(check_output_path(path));
    std::FILE* const file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return fail_errno("cannot write", path, errno);
    return Sink(file, path);
  }
  Sink(Sink&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)) {}
  Sink& operator=(Sink&&) = delete;
  ~Sink() {
    if (file_ == nullptr || file_ == stdout) return;
    std::fclose(file_);
    std::remove(path_.c_str());
  }

  void write(const std::string& text) { write_text(file_, text); }
  Result<void> close() {
    std::FILE* const file = std::exchange(file_, nullptr);
    if (file == stdout) return {};  // finish_output() looks at it
    const bool lost = std::ferror(file) != 0;
    if (std::fclose(file) == 0 && !lost) return {};
    const int error = errno;
    std::remove(path_.c_str());
    return fail_errno("cannot write", path_, error);
  }

 private:
  Sink(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::FILE* file_;
  std::string path_;
};

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

void write_lines(const format::Trace& trace, Sink& sink) {
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

void write_timeline(const format::Trace& trace, Sink& sink) {
  sink.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  bool first = true;
  for_each_timeline_event(trace, [&](const Json& event) {
    sink.write((std::exchange(first, false) ? "" : ",\n") + one_line(event));
  });
  sink.write("\n]}\n");
}

// In double quotes, as the DOT language has it.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "\"";
}

std::string node_text(EventJson& events, const format::GraphNode& node) {
  if (const auto* launch = std::get_if<format::Launch>(&node.action)) {
    return fmt::format("{} {}x{}x{}", events.kernel_name(launch->kernel), launch->grid[0],
                       launch->grid[1], launch->grid[2]);
  }
  if (const auto* copy = std::get_if<format::Copy>(&node.action)) {
    const auto end = [](const format::CopyEnd& one) {
      return one.allocation == 0 ? std::string("host") : fmt::format("#{}", one.allocation);
    };
    return fmt::format("copy {} -> {} ({} bytes)", end(copy->source), end(copy->destination),
                       copy->width_bytes * copy->height * copy->depth);
  }
  if (const auto* set = std::get_if<format::Memset>(&node.action))
    return fmt::format("memset #{}", set->allocation);
  if (const auto* function = std::get_if<format::HostFunction>(&node.action))
    return "host function " + function->call;
  return "empty";
}

void write_graphs(const format::Trace& trace, format::GraphId only, Sink& sink) {
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

Result<void> write_code(const format::Trace& trace, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno("cannot make", folder, error.value());
  for (const format::CodeObject& code : trace.code_objects()) {
    const std::string path = fmt::format("{}/code_object_{}.co", folder, code.id);
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, trace.blob(code.elf));
    GFXGRAPH_TRY(check_output_path(path));
    GFXGRAPH_ASSIGN_OR_RETURN(File file, File::open_write(path));
    Result<void> written = file.truncate(0);
    if (written) written = file.write_all(elf);
    if (!written) {
      std::remove(path.c_str());
      return written;
    }
    print("{}: {}, {}\n", path, code.target, format_bytes(elf.size()));
  }
  return {};
}

}  // namespace

int export_command(int argc, char** argv) {
  CLI::App app(
      "Writes a trace in a form that other programs read (docs/export.md):\n"
      "  perfetto  a timeline for ui.perfetto.dev or chrome://tracing\n"
      "  jsonl     everything but the bytes of buffers: a JSON object per line\n"
      "  dot       the recorded graphs, for Graphviz\n"
      "  code      the code objects, as files in the folder that -o names\n\n"
      "Example: gfxgraph export app.gfxg --format perfetto -o app.json",
      "gfxgraph export");
  std::string path, format, output;
  format::GraphId graph = 0;
  ReadLimits limits;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_option("--format", format, "perfetto, jsonl, dot or code")
      ->required()
      ->check(CLI::IsMember({"perfetto", "jsonl", "dot", "code"}));
  app.add_option("-o,--output", output, "file, or folder for code (default: standard output)");
  app.add_option("--graph", graph, "only this graph, with dot");
  add_read_limits(app, limits);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("export", limits);
  if (format == "code" && output.empty()) {
    print(stderr, "gfxgraph: name a folder for the code objects with -o\n");
    return kExitUsage;
  }
  if (graph != 0 && format != "dot") {
    print(stderr, "gfxgraph: --graph goes with --format dot\n");
    return kExitUsage;
  }

  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true});
  if (!opened) return report(opened.error());
  const format::Trace& trace = **opened;
  if (graph > trace.graphs().size()) {
    return report({Status::kNotFound, fmt::format("{} has no graph {}: there are {}", path, graph,
                                                  trace.graphs().size())});
  }
  if (format == "code") {
    if (const Result<void> written = write_code(trace, output); !written)
      return report(written.error());
  } else {
    Result<Sink> sink = Sink::open(output);
    if (!sink) return report(sink.error());
    if (format == "perfetto") write_timeline(trace, *sink);
    if (format == "jsonl") write_lines(trace, *sink);
    if (format == "dot") write_graphs(trace, graph, *sink);
    if (const Result<void> closed = sink->close(); !closed) return report(closed.error());
  }
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
