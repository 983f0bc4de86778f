// gfxgraph check: executes every recorded launch offline and reports what is wrong in its kernels.
#include "lanecheck/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "base/print.h"
#include "format/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"

namespace gfxgraph::tools {
namespace {

int exit_code_of(const lanecheck::Report& report, const format::Trace& trace) {
  if (report.unsafe()) return kExitUnsafeLanes;
  if (!report.failed.empty()) return kExitFailed;
  if (report.stopped) return kExitDataLost;
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

}  // namespace

int check_command(int argc, char** argv) {
  CLI::App app(
      "Executes every launch of a trace in the emulator, without HIP or a GPU, and reports invalid "
      "accesses to memory. Exit code 4: errors were found; 1: a launch could not be "
      "run; 3: a budget is spent, or the trace is damaged or incomplete.\n\n"
      "Example: gfxgraph check app.gfxg --masked-lane=error",
      "gfxgraph check");
  std::string path;
  std::string masked_lane = "warn";
  std::string format_name = "text";
  lanecheck::CheckOptions options;
  bool torn = false;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_option(
         "--masked-lane", masked_lane,
         "masked-off lanes with addresses outside every buffer: off, warn, error, or literal "
         "(also addresses that are stale or undefined)")
      ->check(CLI::IsMember({"off", "warn", "error", "literal"}));
  app.add_flag("--strict", options.strict, "warnings are errors");
  app.add_option("--format", format_name, "text or json")->check(CLI::IsMember({"text", "json"}));
  app.add_option("--threads", options.threads, "emulator threads; 0: all cores");
  app.add_option("--max-seconds", options.limits.seconds, "stop after this time; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-instructions", options.limits.instructions,
                 "stop after so many instructions of waves, of all launches together; 0: no limit")
      ->capture_default_str();
  app.add_option("--max-memory", options.limits.memory_bytes,
                 "stop when buffers and code need more at a time: bytes, or a number with KiB, MiB "
                 "or GiB (default: half of this machine's memory)")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--torn", torn, "accept a damaged trace and check what is readable");
  if (const int code = parse(app, argc, argv); code >= 0) return code;

  const Result<lanecheck::MaskedLaneMode> mode = lanecheck::parse_masked_lane_mode(masked_lane);
  if (!mode) return report(mode.error());
  options.masked_lane = *mode;
  // The budget ends a check with a report; where it is not looked at, the process ends a bit later.
  constexpr double kGraceSeconds = 30;
  if (options.limits.seconds > 0) enforce_time("check", options.limits.seconds + kGraceSeconds);
  format::ReadOptions read_options;
  read_options.allow_torn = torn;
  read_options.max_decompressed_bytes = options.limits.memory_bytes;
  const Result<std::shared_ptr<const format::Trace>> trace =
      format::Trace::open(path, read_options);
  if (!trace) return report(trace.error());
  const Result<lanecheck::Report> checked = lanecheck::check_trace(**trace, options);
  if (!checked) return report(Error{checked.error().status, path + ": " + checked.error().message});
  const std::string text = format_name == "json" ? lanecheck::render_json(*checked, path)
                                                 : lanecheck::render_text(*checked, path);
  write_text(stdout, text);
  return exit_code_of(*checked, **trace);
}

}  // namespace gfxgraph::tools
