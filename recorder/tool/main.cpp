// gfxgraph-record: runs a program and writes what it asks of the GPU into a trace.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cli/common_options.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/help_text.h"
#include "base/cli/option_error.h"
#include "base/cli/output.h"
#include "base/cli/print.h"
#include "recorder/contract/output_pattern.h"
#include "recorder/selection/launch_selection.h"
#include "recorder/selection/range_selection.h"
#include "recorder/selection/segments.h"
#include "recorder/tool/launcher.h"

namespace {

using gfxgraph::kExitFailed;

struct Arguments {
  std::vector<std::string> own;      // before the first "--", without the program's name
  std::vector<std::string> program;  // behind it
};

// Split by hand: whatever stands behind "--" belongs to the recorded program, options included.
Arguments split(int argc, char** argv) {
  Arguments arguments;
  int i = 1;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) arguments.own.emplace_back(argv[i]);
  for (++i; i < argc; ++i) arguments.program.emplace_back(argv[i]);
  return arguments;
}

// "./build/app" gives "app.gfxg".
std::string default_output(const std::string& program) {
  std::string name = std::filesystem::path(program).filename().string() + ".gfxg";
  for (size_t at = 0; (at = name.find('%', at)) != std::string::npos; at += 2)
    name.insert(at, 1, '%');  // it stands for itself
  return name;
}

int usage_error(const std::string& text) {
  return gfxgraph::console::usage_error(
      text, "usage: gfxgraph-record [-o T.gfxg] [options] -- PROGRAM ARGS...");
}

int run_tool(int argc, char** argv) {
  const Arguments arguments = split(argc, argv);
  gfxgraph::recorder::LaunchRequest request;
  request.program = arguments.program;
  std::string device = "auto";
  bool no_content = false;
  bool hash_only = false;
  bool profiler_range = false;
  std::string contents = "touched";

  CLI::App app{
      "Records the GPU work of a HIP program into one trace file.\n"
      "usage: gfxgraph-record [-o T.gfxg] [options] -- PROGRAM ARGS...\n\n"
      "Example: gfxgraph-record -o app.gfxg -- ./app --size 4096"};
  app.name("gfxgraph-record");
  app.footer(
      "Exit code: the program's own (128 + n for signal n). If the program returned 0: 3 if its "
      "recording was lost or lacks work that the trace does not name, otherwise 0; --strict adds "
      "incomplete traces. 1: could not record, or a --range, --launches or --kernel matched "
      "nothing; 2: wrong command line.");
  app.add_option(
      "-o,--output", request.options.output,
      "the trace to write, T.gfxg (default: the program's name with .gfxg, in this folder); with\n"
      "%p (process id) or %r (MPI rank) in its name each process that uses HIP gets a trace, and\n"
      "a manifest lists them; %%: a percent sign");
  app.add_option("--device", device,
                 "auto (a GPU if there is one), real or emulated (the software agent)")
      ->check(CLI::IsMember({"auto", "real", "emulated"}))
      ->capture_default_str();
  app.add_option("--devices", request.devices, gfxgraph::kDevicesHelp)
      ->check(CLI::Range(1u, gfxgraph::kMaxDevices));
  app.add_flag("--redact", request.options.redact,
               "omit the command line and the folders of the program from the trace");
  app.add_flag("--hash-only", hash_only, "store hashes of final buffer contents, not their bytes");
  app.add_flag("--no-content", no_content,
               "do not store final buffer contents (disables --verify)");
  app.add_flag("--checkpoints", request.options.checkpoints,
               "hash all buffers after every launch, for gfxgraph-replay --bisect (slow)");
  app.add_flag(
      "--wait", request.options.wait,
      "let launches wait up to 10 ms for kernels that reach host memory, and longer if the bytes\n"
      "are given to more work, to determine who wrote them");
  app.add_option("--compress", request.options.compression_level, "zstd level 0 (off) to 19")
      ->check(CLI::Range(0, 19));
  app.add_option(
      "--range", request.options.ranges,
      "record only the program's work in this range: NAME, NAME#N or NAME#N-M, counted from 0\n"
      "(roctx, gfxgraph/record.h); repeatable, as are the next two: work that any of them\n"
      "selects is recorded");
  app.add_option(
      "--launches", request.options.launches,
      "record only the launches N:M of the process, from the N-th to the one before the M-th,\n"
      "counted from 0 as they return, graphs by their kernel nodes; N: and :M are open");
  app.add_option(
      "--kernel", request.options.kernels,
      "record only the launches of kernels with this name: GLOB, GLOB#N or GLOB#N-M, the N-th\n"
      "to the M-th of them; mangled, or readable with or without types; '*' and '?' match");
  app.add_flag("--profiler-range", profiler_range,
               "record only the program's work from hipProfilerStart to hipProfilerStop");
  app.add_option(
      "--flight-recorder", request.options.flight_recorder,
      "keep only the end of a long run: at least its last SIZE launches (5000), or SIZE of trace\n"
      "(64MiB; KiB, MiB, GiB). Two traces replay alone: T.gfxg up to the end or crash, and\n"
      "T.previous.gfxg before it, which is full. SIGUSR2 keeps both as T.kept-1.gfxg and so on,\n"
      "and the recording continues. Excludes the selections above and --checkpoints");
  app.add_option(
      "--contents", contents,
      "memory whose initial content is stored: touched: memory that the recorded work uses;\n"
      "all: all memory; none: only memory that the host can access, so that a replay begins\n"
      "with zeros or bound buffers, and compares nothing (default touched)");
  app.add_flag(
      "--all-targets", request.options.all_targets,
      "store the code of fat programs for all GPUs that they were compiled for, so that the\n"
      "trace replays on each of them");
  app.add_flag("--strict", request.strict, "exit 3 also if the trace is sealed but incomplete");
  app.add_flag("--capture", request.capture, gfxgraph::kCaptureHelp);
  app.add_flag(
      "--rocprofiler-register", request.by_table,
      "let HIP load the recorder, as it does for profilers, in place of LD_PRELOAD: for\n"
      "programs whose HIP calls LD_PRELOAD does not reach; needs a HIP of 6.2 or newer that\n"
      "was built with rocprofiler-register");
  app.add_flag("--force", request.force, "replace existing traces");
  app.formatter(
      std::make_shared<
          gfxgraph::HelpFormatter<CLI::Formatter, CLI::Option, CLI::App, CLI::AppFormatMode>>());
  gfxgraph::add_common_options(
      app, "print only errors and what the trace lacks; no summary, notes and next step",
      GFXGRAPH_VERSION);
  try {
    std::vector<std::string> reversed(arguments.own.rbegin(), arguments.own.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    gfxgraph::write_text(stdout, gfxgraph::help_text(app));
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --version
    return usage_error(gfxgraph::option_error(app, error, true));
  }
  if (request.by_table && request.capture)
    return usage_error("--rocprofiler-register and --capture exclude each other");
  if (no_content && hash_only)
    return usage_error("--no-content and --hash-only exclude each other");
  if (arguments.program.empty())
    return usage_error("no program: put -- and its command line at the end");
  if (request.options.output.empty())
    request.options.output = default_output(arguments.program.front());
  const auto output = gfxgraph::recorder::OutputPattern::parse_path(request.options.output);
  if (!output) return usage_error(output.error().message);
  for (const std::string& range : request.options.ranges) {
    const auto pattern = gfxgraph::recorder::parse_range_pattern(range);
    if (!pattern) return usage_error(pattern.error().message);
  }
  for (const std::string& launches : request.options.launches) {
    const auto interval = gfxgraph::recorder::parse_launch_interval(launches);
    if (!interval) return usage_error(interval.error().message);
  }
  for (const std::string& kernel : request.options.kernels) {
    const auto pattern = gfxgraph::recorder::parse_kernel_pattern(kernel);
    if (!pattern) return usage_error(pattern.error().message);
  }
  if (request.options.kernels.size() > gfxgraph::recorder::LaunchSelection::kMostPatterns) {
    return usage_error("--kernel more than " +
                       std::to_string(gfxgraph::recorder::LaunchSelection::kMostPatterns) +
                       " times");
  }
  if (!request.options.flight_recorder.empty()) {
    const auto size = gfxgraph::recorder::parse_segment_size(request.options.flight_recorder);
    if (!size) return usage_error(size.error().message);
    if (!request.options.ranges.empty() || !request.options.launches.empty() ||
        !request.options.kernels.empty() || profiler_range) {
      return usage_error(
          "--flight-recorder records the end of a run: not with --range, --launches, --kernel or "
          "--profiler-range");
    }
    if (request.options.checkpoints)
      return usage_error("--flight-recorder and --checkpoints exclude each other");
  }
  const auto kept = gfxgraph::recorder::parse_contents(contents);
  if (!kept) return usage_error(kept.error().message);
  request.options.contents = *kept;
  if (*kept == gfxgraph::recorder::WhichContents::kNone) {
    if (hash_only) return usage_error("--contents none and --hash-only exclude each other");
    if (request.options.checkpoints)
      return usage_error("--contents none and --checkpoints exclude each other");
  }
  // The name that hooks_marker.cpp gives this range.
  if (profiler_range) request.options.ranges.emplace_back("hipProfiler");
  if (no_content) request.options.post = gfxgraph::recorder::PostState::kNone;
  if (hash_only) request.options.post = gfxgraph::recorder::PostState::kHash;
  const gfxgraph::Result<gfxgraph::DeviceChoice> choice = gfxgraph::parse_device_choice(device);
  if (!choice) return usage_error(choice.error().message);
  request.device = *choice;

  const gfxgraph::Result<int> code = gfxgraph::recorder::launch(request);
  if (code) return *code;
  gfxgraph::console::error(code.error().message);
  return kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  gfxgraph::reserve_standard_descriptors();
  gfxgraph::console::options().program = "gfxgraph-record";
  const int code = gfxgraph::finish_output("gfxgraph-record", run_tool(argc, argv));
  gfxgraph::console::finish(code);
  return code;
}
