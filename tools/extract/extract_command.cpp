// gfxgraph extract: a part of a trace that replays alone.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/file/new_file.h"
#include "format/read/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/extract/extract.h"
#include "tools/extract/standalone.h"
#include "tools/read_limits.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string trace, output, range, launches, kernel, standalone;
  uint32_t pieces = 0;  // 0: one part
  bool allow_incomplete = false;
  bool json = false;
  ExtractOptions options;
};

Result<std::vector<TracePart>> find_parts(const format::Trace& trace, const Arguments& arguments) {
  if (arguments.pieces != 0) return find_pieces(trace, arguments.pieces);
  GFXGRAPH_ASSIGN_OR_RETURN(
      TracePart part, !arguments.range.empty()      ? find_range_part(trace, arguments.range)
                      : !arguments.launches.empty() ? find_launches_part(trace, arguments.launches)
                                                    : find_kernel_part(trace, arguments.kernel));
  return std::vector{std::move(part)};
}

// app.gfxg: app-01.gfxg, app-02.gfxg, ..., so that a shell lists them in order.
std::vector<std::string> output_names(const std::string& output, uint32_t pieces) {
  if (pieces == 0) return {output};
  const std::filesystem::path path(output);
  const size_t digits = fmt::formatted_size("{}", pieces);
  std::vector<std::string> names;
  for (uint32_t n = 1; n <= pieces; ++n) {
    std::filesystem::path name = path;
    name.replace_filename(
        fmt::format("{}-{:0{}}{}", path.stem().string(), n, digits, path.extension().string()));
    names.push_back(name.string());
  }
  return names;
}

Json json_of(const std::string& input, const std::string& output, const TracePart& part,
             const ExtractReport& report) {
  return {{"schema", "gfxgraph-extract/1"},
          {"input", input},
          {"output", output},
          {"part", part.text},
          {"first_event", part.first_event},
          {"end_event", part.end_event},
          {"launches", report.launches},
          {"executed_before", report.executed},
          {"buffers", {{"recorded", report.from_trace}, {"computed", report.from_emulator}}},
          {"contents", {{"compared", report.compared}, {"different", report.different}}},
          {"dropped_relocations", report.dropped_relocations}};
}

void print_json(const Json& json) {
  write_text(stdout, json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

void print_text(const std::string& output, const TracePart& part, const ExtractReport& report) {
  print("{}: {}, {}\n", output, part.text, counted(report.launches, "kernel launch"));
  print(
      "buffers at its beginning: {} as recorded, {} as the emulator computed them ({} "
      "executed)\n",
      report.from_trace, report.from_emulator, counted(report.executed, "launch"));
}

Result<void> extract_file(const Arguments& arguments, const std::vector<std::string>& names) {
  std::vector<std::string> outputs = names;
  if (!arguments.standalone.empty()) {
    for (const std::string& name : standalone_names(arguments.standalone)) outputs.push_back(name);
  }
  GFXGRAPH_TRY(check_distinct(outputs, std::span(&arguments.trace, 1)));
  for (const std::string& output : names) GFXGRAPH_TRY(check_new_file(output, FileUse::kTrace));
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + arguments.trace);
  GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const format::Trace> trace,
                            format::Trace::open(arguments.trace));
  describe(arguments.trace, *trace);
  if (!trace->complete() && !arguments.allow_incomplete) {
    return fail(
        Status::kIncomplete,
        fmt::format("{}: the trace is incomplete (gfxgraph info says why), so memory in the middle "
                    "of it may be unknown; --allow-incomplete extracts it anyway",
                    arguments.trace));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<TracePart> parts, find_parts(*trace, arguments));
  ExtractOptions options = arguments.options;
  options.progress = count_on(*progress, "executing event");
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<ExtractReport> reports,
                            extract(*trace, parts, names, options));
  progress->clear();
  for (const std::string& output : names) wrote(output);
  const ExtractReport& last = reports.back();
  for (const std::string& text : last.notes) note(text);
  if (arguments.json) {
    Json list = Json::array();
    for (size_t n = 0; n < parts.size(); ++n)
      list.push_back(json_of(arguments.trace, names[n], parts[n], reports[n]));
    print_json(arguments.pieces == 0
                   ? list.front()
                   : Json{{"schema", "gfxgraph-extract-pieces/1"}, {"pieces", std::move(list)}});
    return {};
  }
  for (size_t n = 0; n < parts.size(); ++n) {
    if (reports[n].dropped_relocations != 0) {
      note(fmt::format("{} to memory that was freed before: the recorded value stays",
                       counted(reports[n].dropped_relocations, "pointer")));
    }
  }
  if (last.different != 0) {
    note(fmt::format("{} of {} recorded contents differ from the emulator's memory", last.different,
                     last.compared));
  }
  for (size_t n = 0; n < parts.size(); ++n) print_text(names[n], parts[n], reports[n]);
  if (last.compared == 0) {
    print("recorded contents: none to compare with the emulator's memory\n");
  } else {
    print("recorded contents: {} compared with the emulator's memory, {} differ\n", last.compared,
          last.different);
  }
  return {};
}

}  // namespace

int extract_command(int argc, char** argv) {
  CLI::App app(
      "Writes a part of a trace as a trace that replays alone. The emulator executes everything\n"
      "before the part, and the part itself, to know what memory holds; contents that the trace\n"
      "has are compared with it.\n\n"
      "Example: gfxgraph extract app.gfxg -o part.gfxg --launches 0:1",
      "gfxgraph extract");
  Arguments arguments;
  ReadLimits limits;
  app.add_option("TRACE", arguments.trace, "trace file")->required();
  app.add_option("-o,--output", arguments.output, "the new trace");
  app.add_option("--range", arguments.range,
                 "NAME, the first range of that name, NAME#N, or period#P of gfxgraph info "
                 "--ranges");
  app.add_option("--launches", arguments.launches,
                 "N:M, N: or :M: from the N-th launch to the one before the M-th, with everything "
                 "between them; each kernel of a graph counts");
  app.add_option("--kernel", arguments.kernel,
                 "GLOB or GLOB#N: the first, or the N-th launch of the kernels that match, "
                 "alone");
  app.add_option("--pieces", arguments.pieces,
                 "the whole trace as N traces that follow each other, each with about as many "
                 "launches: -o T.gfxg writes T-1.gfxg and so on")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{1}, kMostPieces));
  app.add_option("--standalone", arguments.standalone,
                 "with --kernel: also write a folder with the code object, the arguments, the "
                 "buffers, and a HIP program that launches the kernel and compares");
  add_json(app, arguments.json);
  app.add_flag("--allow-incomplete", arguments.allow_incomplete,
               "extract even if the trace is incomplete");
  app.add_flag("--allow-diverged", arguments.options.allow_diverged,
               "extract even if memory differs from the contents in the trace");
  add_read_limits(app, limits);
  add_instruction_limit(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  app.footer("Exit codes: 0 ok, 1 failed, 2 usage, 3 damaged or incomplete trace.");
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  const auto named = [&](const char* option) { return app.count(option) != 0; };
  if (named("--range") + named("--launches") + named("--kernel") + named("--pieces") != 1) {
    console::error("name the part with one of --range, --launches, --kernel and --pieces");
    return kExitUsage;
  }
  enforce("extract", limits);
  arguments.options.limits = {limits.seconds, limits.instructions, limits.memory_bytes};
  if (!arguments.standalone.empty() && arguments.kernel.empty()) {
    console::error("--standalone goes with --kernel");
    return kExitUsage;
  }
  if (arguments.output.empty() && arguments.standalone.empty()) {
    console::error("name the new trace with -o");
    return kExitUsage;
  }
  if (!arguments.standalone.empty()) {
    if (const Result<void> usable = check_standalone_folder(arguments.standalone); !usable)
      return report(usable.error());
  }
  std::string output = arguments.output;
  if (output.empty()) {
    std::error_code error;
    std::filesystem::create_directories(arguments.standalone, error);
    if (error)
      return report({Status::kIo, fmt::format("{}: {}", arguments.standalone, error.message())});
    output = arguments.standalone + "/kernel.gfxg";
  }
  const std::vector<std::string> outputs = output_names(output, arguments.pieces);
  const sandbox::Access access{.read = {arguments.trace},
                               .write = {outputs.begin(), outputs.end()},
                               .folders = {arguments.standalone}};
  if (const int code = enter_sandbox("extract", no_sandbox, access); code >= 0) return code;
  if (const Result<void> done = extract_file(arguments, outputs); !done)
    return report(done.error());
  if (arguments.standalone.empty()) return kExitOk;
  try {
    const Result<void> written = write_standalone(output, arguments.standalone);
    if (!written && written.error().status == Status::kOutOfMemory) throw std::bad_alloc();
    if (!written) return report(written.error());
  } catch (const std::bad_alloc&) {
    if (arguments.output.empty()) ::unlink(output.c_str());  // only a part of the folder
    throw;
  }
  if (arguments.json) return kExitOk;
  print("{}: cmake -S {} -B BUILD && cmake --build BUILD && BUILD/launch\n", arguments.standalone,
        arguments.standalone);
  return kExitOk;
}

}  // namespace gfxgraph::tools
