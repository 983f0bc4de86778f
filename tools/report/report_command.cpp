// gfxgraph report: a trace, and results of gfxgraph check and gfxgraph-replay, as one HTML page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cli/print.h"
#include "base/file/new_file.h"
#include "format/read/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/report/report_data.h"
#include "tools/report/report_page.h"
#include "tools/result_file.h"
#include "tools/text_sink.h"
#include "tools/trace/event_json.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

// JSON inside a script element: no "<", so that no text of a trace ends the element.
std::string in_script(const Json& json) {
  std::string escaped;
  for (const char c : one_line(displayable(json))) c == '<' ? escaped += "\\u003c" : escaped += c;
  return escaped;
}

// Adds a result to the list that its kind belongs to.
Result<void> add_result(Json& data, const std::string& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(Json result, read_result(path));
  const bool is_object = result.is_object();
  const char* kind = nullptr;
  if (is_object && result.value("schema", Json()) == "gfxgraph-check/1") {
    kind = "checks";
  } else if (is_object && result.value("schema", Json()) == "gfxgraph-bench/1") {
    kind = "benches";
  } else if (is_object && result.contains("mode") && result.contains("operations") &&
             result.contains("verified")) {
    kind = "replays";
  }
  if (kind == nullptr) {
    return fail(Status::kInvalidArgument,
                format_printable("{}: neither a result of gfxgraph check --format json nor of "
                                 "gfxgraph-replay --json",
                                 path));
  }
  data[kind].push_back(
      {{"file", std::filesystem::path(path).filename().string()}, {"result", std::move(result)}});
  return {};
}

void write_page(TextSink& sink, const Json& data) {
  const std::span<const PageFile> files = page_files();
  const std::string_view page = files.front().text;
  constexpr std::string_view kPlace = "<!-- style, data and scripts -->\n";
  const size_t place = page.find(kPlace);
  sink.write(page.substr(0, place));
  for (const PageFile& file : files.subspan(1)) {
    const bool style = file.name.ends_with(".css");
    sink.write(style ? "<style>\n" : "<script>\n");
    sink.write(file.text);
    sink.write(style ? "</style>\n<script type=\"application/json\" id=\"data\">" : "</script>\n");
    if (style) sink.write(in_script(data) + "</script>\n");
  }
  sink.write(page.substr(place + kPlace.size()));
}

}  // namespace

int report_command(int argc, char** argv) {
  CLI::App app(
      "Writes one HTML page about a trace, which needs no network: timeline of the streams, "
      "kernels, life-times of buffers, graphs, graph readiness. Results of gfxgraph check --format "
      "json and gfxgraph-replay --json add findings and times.\n\n"
      "Example: gfxgraph report app.gfxg -o app.html",
      "gfxgraph report");
  std::string path, output;
  std::vector<std::string> results;
  ReadLimits limits;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_option("RESULT", results, "JSON of gfxgraph check or gfxgraph-replay");
  app.add_option("-o,--output", output, "HTML file (default: standard output)")->type_name("FILE");
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  if (page_files().empty()) {
    return report(
        {Status::kUnsupported,
         "report: this gfxgraph was built without D3, which draws the pages; build it with "
         "Debian's packages node-d3-* (cmake -DGFXGRAPH_D3=ON names what is missing), or "
         "use gfxgraph info and gfxgraph export --format perfetto or dot"});
  }
  enforce("report", limits);
  sandbox::Access access{.read = {path}, .write = {output}, .programs = true};
  access.read.insert(access.read.end(), results.begin(), results.end());
  if (const int code = enter_sandbox("report", no_sandbox, access); code >= 0) return code;

  std::vector<std::string> inputs = results;
  inputs.push_back(path);
  if (const Result<void> fine = check_distinct(std::span(&output, 1), inputs); !fine)
    return report(fine.error());
  Result<TextSink> sink = TextSink::open(output);
  if (!sink) return report(sink.error());
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + path);
  const Result<std::shared_ptr<const format::Trace>> opened =
      format::Trace::open(path, {.allow_torn = true});
  progress->clear();
  if (!opened) return report(opened.error());
  describe(path, **opened);
  const format::Trace& trace = **opened;
  progress->at("collecting the tables of " + path);
  Json data = report_data(trace);
  progress->clear();
  data["trace"]["file"] = std::filesystem::path(path).filename().string();
  data["checks"] = Json::array();
  data["replays"] = Json::array();
  data["benches"] = Json::array();
  for (const std::string& result : results) {
    if (const Result<void> added = add_result(data, result); !added) return report(added.error());
  }
  write_page(*sink, data);
  if (const Result<void> closed = sink->close(); !closed) return report(closed.error());
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
