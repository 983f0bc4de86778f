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
  bool allow_incomplete = false;
  bool json = false;
  ExtractOptions options;
};

Result<TracePart> find_part(const format::Trace& trace, const Arguments& arguments) {
  if (!arguments.range.empty()) return find_range_part(trace, arguments.range);
  if (!arguments.launches.empty()) return find_launches_part(trace, arguments.launches);
  return find_kernel_part(trace, arguments.kernel);
}

std::string render_json(const std::string& input, const std::string& output, const TracePart& part,
                        const ExtractReport& report) {
  const Json json = {
      {"schema", "gfxgraph-extract/1"},
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
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<void> extract_file(const Arguments& arguments, const std::string& output) {
  std::vector<std::string> outputs = {output};
  if (!arguments.standalone.empty()) {
    for (const std::string& name : standalone_names(arguments.standalone)) outputs.push_back(name);
  }
  GFXGRAPH_TRY(check_distinct(outputs, std::span(&arguments.trace, 1)));
  GFXGRAPH_TRY(check_new_file(output, FileUse::kTrace));
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
  GFXGRAPH_ASSIGN_OR_RETURN(const TracePart part, find_part(*trace, arguments));
  ExtractOptions options = arguments.options;
  options.progress = count_on(*progress, "executing event");
  GFXGRAPH_ASSIGN_OR_RETURN(const ExtractReport report, extract(*trace, part, output, options));
  progress->clear();
  wrote(output);
  for (const std::string& text : report.notes) note(text);
  if (arguments.json) {
    write_text(stdout, render_json(arguments.trace, output, part, report));
    return {};
  }
  if (report.dropped_relocations != 0) {
    note(fmt::format("{} to memory that was freed before: the recorded value stays",
                     counted(report.dropped_relocations, "pointer")));
  }
  if (report.different != 0) {
    note(fmt::format("{} of {} recorded contents differ from the emulator's memory",
                     report.different, report.compared));
  }
  print("{}: {}, {}\n", output, part.text, counted(report.launches, "kernel launch"));
  print(
      "buffers at its beginning: {} as recorded, {} as the emulator computed them ({} "
      "executed)\n",
      report.from_trace, report.from_emulator, counted(report.executed, "launch"));
  if (report.compared == 0) {
    print("recorded contents: none to compare with the emulator's memory\n");
  } else {
    print("recorded contents: {} compared with the emulator's memory, {} differ\n", report.compared,
          report.different);
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
  if (named("--range") + named("--launches") + named("--kernel") != 1) {
    console::error("name the part with one of --range, --launches and --kernel");
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
  const sandbox::Access access{
      .read = {arguments.trace}, .write = {output}, .folders = {arguments.standalone}};
  if (const int code = enter_sandbox("extract", no_sandbox, access); code >= 0) return code;
  if (const Result<void> done = extract_file(arguments, output); !done) return report(done.error());
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
