// gfxgraph check: executes every recorded launch offline and reports what is wrong in its kernels.
#include "check/check.h"
#include "check/report/user_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cli/print.h"
#include "base/cli/suggestion.h"
#include "base/file/file.h"
#include "base/file/new_file.h"
#include "check/report/baseline.h"
#include "check/report/selection.h"
#include "check/report/suppression.h"
#include "check/shard/part.h"
#include "format/read/reader.h"
#include "format/write/writer.h"
#include "tools/check/check_output.h"
#include "tools/check/execution.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/trace/call_places.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

// Adds the source lines of the program's calls, if this machine still has the program.
void add_call_lines(const format::Trace& trace, check::Report& report) {
  constexpr uint64_t kMostFileBytes = UINT64_C(256) << 20;
  CallPlaces places(trace, kMostFileBytes);
  const auto add = [&](std::string& text, format::SiteId site) {
    if (text.empty()) return;
    const CallPlace& place = places.find(site);
    if (!place.file.empty() && !check::is_foreign_file(place.file))
      text += fmt::format(" ({}:{})", place.file, place.line);
    if (!place.caller.empty()) text += ", from " + place.caller;
  };
  for (size_t n = 0; n < report.calls.size(); ++n) {
    check::FindingCalls& calls = report.calls[n];
    add(calls.launched_by, calls.launch_site);
    add(calls.allocated_by, calls.allocation_site);
    check::Finding& finding = report.findings[n];
    // Of memory, the call that allocated it.
    const format::SiteId site = calls.launch_site != 0 ? calls.launch_site : calls.allocation_site;
    if (!finding.of_call() || site == 0) continue;
    if (const CallPlace& place = places.find(site);
        !place.file.empty() && !check::is_foreign_file(place.file))
      finding.source = codeobj::SourceLocation{place.file, place.line, 0, place.symbol};
  }
}

constexpr uint64_t kMostSuppressionBytes = 1 << 24;

Result<std::vector<check::Suppression>> read_suppressions(const std::vector<std::string>& paths) {
  std::vector<check::Suppression> all;
  for (const std::string& path : paths) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                              read_file(path, kMostSuppressionBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    GFXGRAPH_ASSIGN_OR_RETURN(std::vector<check::Suppression> some,
                              check::parse_suppressions(text, path));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Result<std::vector<check::KnownFinding>> read_baselines(const std::vector<std::string>& paths) {
  constexpr uint64_t kMostBytes = 1 << 28;
  std::vector<check::KnownFinding> all;
  for (const std::string& path : paths) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_file(path, kMostBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    GFXGRAPH_ASSIGN_OR_RETURN(std::vector<check::KnownFinding> some,
                              check::parse_baseline(text, path));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// A wrong command line: names what is wrong.
int usage(const Error& error) {
  report(error);
  return kExitUsage;
}

// An error about the trace, which has another name for people than the path that it is read from.
Error renamed(Error error, const std::string& path, const std::string& name) {
  for (size_t at = 0; (at = error.message.find(path, at)) != std::string::npos; at += name.size())
    error.message.replace(at, path.size(), name);
  return error;
}

// --fail-on.
bool fails(const check::Report& report, const std::string& severity) {
  using check::Severity;
  return report.unsafe() || (severity != "error" && report.count(Severity::kWarning) != 0) ||
         (severity == "note" && report.count(Severity::kNote) != 0);
}

// README.md, "Exit codes".
int exit_code_of(const check::Report& report, const format::Trace& trace,
                 const std::string& fail_on, bool strict) {
  if (fails(report, fail_on)) return kExitUnsafeLanes;
  if (report.lost_launches() != 0) return strict ? kExitDataLost : kExitFailed;
  if (report.stopped) return kExitDataLost;
  return trace.sealed() && trace.complete() ? kExitOk : kExitDataLost;
}

// What is the same for each trace.
struct Request {
  check::CheckOptions options;
  std::vector<check::Suppression> suppressions;
  std::vector<check::KnownFinding> known;
  std::string fail_on;
  bool torn = false;
  bool coverage = false;
};

// What gfxgraph merge compares: a digest stands for what is long.
std::string digest_of(std::string_view text) {
  const format::BlobId id = format::hash_bytes(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}{:016x}", id.high, id.low);
}

std::string text_of(const std::vector<check::Suppression>& suppressions) {
  std::string all;
  for (const check::Suppression& one : suppressions)
    all += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", one.where,
                       check::class_text(one.finding_class).code, one.kernel, one.file, one.line,
                       one.reason);
  return fmt::format("{} of digest {}", counted(suppressions.size(), "line"), digest_of(all));
}

std::string text_of(const std::vector<check::KnownFinding>& known) {
  std::string all;
  for (const check::KnownFinding& one : known)
    all += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", one.report,
                       check::class_text(one.finding_class).code, one.kernel, one.file, one.line,
                       one.kernel_offset);
  return fmt::format("{} of digest {}", counted(known.size(), "finding"), digest_of(all));
}

// Words of the command line as they are, for messages.
struct Given {
  std::vector<std::string> launches;
  std::string masked_lane = "warn";
  std::string format = "text";
  bool with_code = false;
};

// All that reports depend on; --threads is not of these.
std::vector<check::PartOption> options_of(const Request& request, const Given& given) {
  const check::CheckOptions& options = request.options;
  std::vector<std::string> tools;
  for (size_t n = 0; n < check::kTools; ++n)
    if (options.selection.tools[n])
      tools.emplace_back(check::tool_name(static_cast<check::Tool>(n)));
  const auto flag = [](bool set) { return set ? "true" : "false"; };
  return {{"--tool", fmt::format("{}", fmt::join(tools, ","))},
          {"--kernel", fmt::format("{}", fmt::join(options.selection.kernels, "' '"))},
          {"--launch", fmt::format("{}", fmt::join(given.launches, "' '"))},
          {"--suppress", text_of(request.suppressions)},
          {"--baseline", text_of(request.known)},
          {"--fail-on", request.fail_on},
          {"--masked-lane", given.masked_lane},
          {"--strict", flag(options.strict)},
          {"--allow-torn", flag(request.torn)},
          {"--coverage", flag(request.coverage)},
          {"--max-seconds", fmt::format("{}", options.limits.seconds)},
          {"--max-instructions", fmt::format("{}", options.limits.instructions)},
          {"--max-instructions-without-end", fmt::format("{}", options.livelock_instructions)},
          {"--max-memory", fmt::format("{}", options.limits.memory_bytes)},
          {"--format", given.format},
          {"--disassembly", flag(given.with_code)}};
}

// Without the traces' reports.
check::Part part_of(const check::Shard& shard, const std::vector<std::string>& paths,
                    const Request& request, const Given& given) {
  check::Part part;
  part.version = GFXGRAPH_VERSION;
  part.shard = shard;
  part.names = paths;
  part.options = options_of(request, given);
  for (const check::Suppression& one : request.suppressions) part.suppressions.push_back(one.where);
  return part;
}

struct Outcome {
  check::TraceReport trace;
  int code = kExitOk;
};

// Prints why there is no report.
Outcome without_report(const std::string& name, const Error& error) {
  const int code = report(error);
  return {{name, std::nullopt, with_advice(error)}, code};
}

format::ReadOptions read_options_of(const Request& request) {
  format::ReadOptions options;
  options.allow_torn = request.torn;
  options.max_decompressed_bytes = request.options.limits.memory_bytes;
  return options;
}

// For a --kernel that matched nothing.
void add_names(const format::Trace& trace, std::vector<std::string>& names) {
  constexpr size_t kMostName = 60;
  for (const format::Kernel& kernel : trace.kernels()) {
    if (names.size() >= kMostShown) return;
    const std::string name = short_function_name(demangle(kernel.name), kMostName);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
}

Error with_names(Error error, const std::vector<std::string>& names, size_t kernels) {
  if (error.message.starts_with("no kernel"))
    error.message += "; there are: " + shown_names(names, kernels);
  return error;
}

// Of several traces: each kernel and launch that is asked for is in one of them. Before the work,
// which may be long. A trace that cannot be read may have them.
Result<void> check_selection(const std::vector<std::string>& paths, const Request& request) {
  const check::SelectionOptions& selection = request.options.selection;
  if (!selection.several_traces || (selection.kernels.empty() && selection.launches.empty()))
    return {};
  check::SelectionUse use(selection);
  std::vector<std::string> names;
  size_t kernels = 0;
  for (const std::string& path : paths) {
    const auto trace = format::Trace::open(path, read_options_of(request));
    if (!trace) return {};
    use.add(**trace);
    add_names(**trace, names);
    kernels = std::max(kernels, (*trace)->kernels().size());
  }
  if (Result<void> complete = use.complete("these traces"); !complete)
    return tl::unexpected<Error>(with_names(std::move(complete).error(), names, kernels));
  return {};
}

// `used`: of the suppressions.
Outcome check_one(const std::string& path, const std::string& name, const Request& request,
                  std::vector<bool>& used) {
  const check::CheckOptions& wanted = request.options;
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + name);
  check::CheckOptions options = wanted;
  options.progress = count_on(*progress, "checking launch");
  const Result<std::shared_ptr<const format::Trace>> trace =
      format::Trace::open(path, read_options_of(request));
  progress->clear();
  if (!trace) {
    const Error error = renamed(trace.error(), path, name);
    return without_report(name, error);
  }
  describe(name, **trace);
  const auto named = [&name](const Error& error) {
    return Error{error.status, name + ": " + error.message};
  };
  if (const auto found = check::Selection::make(**trace, options.selection); !found) {
    std::vector<std::string> names;
    add_names(**trace, names);
    const Error error = with_names(found.error(), names, (*trace)->kernels().size());
    return without_report(name, named(error));
  }
  Result<check::Report> checked = check::check_trace(**trace, options);
  progress->clear();
  if (!checked) return without_report(name, named(checked.error()));
  if (request.coverage && !checked->stopped) {
    options.progress = count_on(*progress, "executing launch");
    Result<check::ExecutionTable> executed =
        execution_of(**trace, options.limits, options.progress);
    progress->clear();
    if (!executed) return without_report(name, named(executed.error()));
    checked->execution = std::move(*executed);
  }
  add_call_lines(**trace, *checked);
  check::suppress(request.suppressions, *checked, used);
  check::apply_baseline(request.known, *checked);
  const int code = exit_code_of(*checked, **trace, request.fail_on, options.strict);
  return {{name, std::move(*checked), ""}, code};
}

}  // namespace

int check_command(int argc, char** argv) { return check_recorded(argc, argv, {}); }

int check_recorded(int argc, char** argv, const CheckedProgram& program) {
  CLI::App app(
      "Executes every launch of traces in the emulator, without HIP or a GPU, and reports errors "
      "of its kernels. Exit code 4: errors were found; 1: a launch could not run (3 with "
      "--strict); 2: wrong command line; 3: a budget is spent, or the trace is damaged or "
      "incomplete.\n\n"
      "Example: gfxgraph check app.gfxg --tool memcheck,synccheck\n"
      "Example: gfxgraph check app.gfxg before.gfxg --format sarif -o check.sarif\n"
      "Example: gfxgraph check app.gfxg before.gfxg --shard 1/8 -o 1.part",
      "gfxgraph check");
  std::vector<std::string> paths;
  Given given;
  std::string tools;
  std::vector<std::string> suppression_files;
  std::vector<std::string> baseline_files;
  std::string fail_on = "error";
  std::string output;
  check::CheckOptions options;
  bool torn = false;
  bool coverage = false;
  std::string lcov;
  app.add_option("TRACE", paths, "trace files; several get one report")->required();
  app.add_option("--tool", tools,
                 "comma-separated: memcheck, synccheck, lanes, apicheck (these are the default), "
                 "racecheck, initcheck, or all (these); leakcheck; or perf alone");
  app.add_option("--kernel", options.selection.kernels,
                 "report only kernels that match this glob; may be repeated")
      ->type_name("GLOB")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--launch", given.launches,
                 "report only launch N, or N to the one before M; may be repeated")
      ->type_name("N[:M]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--suppress", suppression_files,
                 "do not report the findings that this file lists; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
         "--baseline", baseline_files,
         "do not report the findings of this earlier report (--format json); may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--fail-on", fail_on,
                 "end with exit code 4 for findings of this severity and above: error, warning or "
                 "note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->capture_default_str();
  app.add_option("-o,--output", output, "write the report to this file")->type_name("FILE");
  app.add_option("--masked-lane", given.masked_lane,
                 "inactive lanes with addresses outside every buffer: off, warn, error, or literal "
                 "(also stale and undefined addresses)")
      ->check(CLI::IsMember({"off", "warn", "error", "literal"}));
  app.add_flag("--strict", options.strict,
               "treat warnings as errors, and end with exit code 3 if a launch was not checked");
  app.add_option("--format", given.format, "text, json or sarif (SARIF 2.1.0)")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_flag("--disassembly", given.with_code,
               "print the instructions around each finding, and mark (*) those that compute its "
               "address; JSON always has them");
  app.add_flag("--coverage", coverage,
               "execute the launches once more, and report how much of each kernel they execute");
  app.add_option("--lcov", lcov, "write the executed lines to this lcov tracefile; with --coverage")
      ->type_name("FILE");
  bool json = false;
  app.add_flag("--json", json, "print JSON: the same as --format json")->excludes("--format");
  app.add_option("--threads", options.threads, "emulator threads; 0: all cores");
  app.add_option("--max-seconds", options.limits.seconds, "stop after this time; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-instructions", options.limits.instructions,
                 "stop after this many wave instructions in all launches together; 0: no limit")
      ->capture_default_str();
  app.add_option("--max-instructions-without-end", options.livelock_instructions,
                 "end a launch if none of its waves ends within this many wave instructions (S5); "
                 "0: no limit")
      ->capture_default_str();
  app.add_option("--max-memory", options.limits.memory_bytes,
                 "stop if live buffers and code need more: bytes, or a number with KiB, MiB "
                 "or GiB (default: half of this machine's memory)")
      ->transform(CLI::AsSizeValue(false));
  std::string shard_text;
  app.add_option("--shard", shard_text,
                 "check only the K-th of N parts of the traces, and write its reports to the file "
                 "of -o for gfxgraph merge, which has their exit code")
      ->type_name("K/N");
  app.add_flag("--allow-torn,--torn", torn, "accept a damaged trace and check its intact part");
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;

  if (json) given.format = "json";
  const Result<check::MaskedLaneMode> mode = check::parse_masked_lane_mode(given.masked_lane);
  if (!mode) return report(mode.error());
  options.masked_lane = *mode;
  if (!tools.empty() || app.count("--tool") != 0) {
    const Result<check::ToolSet> set = check::parse_tools(tools);
    if (!set) return usage(set.error());
    options.selection.tools = *set;
  } else if (program.record) {
    // It was run for the check: all of it, where a trace may be checked again with other tools.
    options.selection.tools = check::parse_tools("all").value();
  }
  for (const std::string& text : given.launches) {
    const Result<check::LaunchRange> range = check::parse_launch_range(text);
    if (!range) return usage(range.error());
    options.selection.launches.push_back(*range);
  }
  if (program.record && paths.size() > 1) {
    return console::usage_error(paths[1] + ": unexpected argument", "see gfxgraph check --help");
  }
  std::optional<check::Shard> shard;
  if (app.count("--shard") != 0) {
    const Result<check::Shard> parsed = check::parse_shard(shard_text);
    if (!parsed) return usage(parsed.error());
    shard = *parsed;
    if (program.record || output.empty()) {
      return console::usage_error(program.record ? "--shard is of traces, not of a program"
                                                 : "--shard needs -o: the file for gfxgraph merge",
                                  "see gfxgraph check --help");
    }
    if (!lcov.empty()) {
      return console::usage_error("--lcov of all shards is written by gfxgraph merge",
                                  "give the shards --coverage");
    }
  }
  Result<std::vector<check::Suppression>> suppressions = read_suppressions(suppression_files);
  if (!suppressions) return usage(suppressions.error());
  Result<std::vector<check::KnownFinding>> known = read_baselines(baseline_files);
  if (!known) return usage(known.error());
  std::vector<std::string> inputs = suppression_files;
  inputs.insert(inputs.end(), baseline_files.begin(), baseline_files.end());
  inputs.insert(inputs.end(), paths.begin(), paths.end());
  inputs.push_back(program.name);
  Result<std::optional<NewFile>> file = open_output(output, inputs);
  if (!file) return usage(file.error());
  inputs.push_back(output);
  Result<std::optional<NewFile>> lcov_file = open_output(lcov, inputs);
  if (!lcov_file) return usage(lcov_file.error());
  if (program.record) {
    if (const int code = program.record(); code >= 0) return code;
  }
  std::vector<size_t> own;
  for (size_t place = 0; place < paths.size(); ++place)
    if (!shard || shard->has(place)) own.push_back(place);
  // The budget ends a check with a report; where it is not looked at, the process ends a bit later.
  constexpr double kGraceSeconds = 30;
  if (options.limits.seconds > 0 && !own.empty()) {
    enforce_time("check",
                 (options.limits.seconds + kGraceSeconds) * static_cast<double>(own.size()));
  }
  // All traces may have what --kernel and --launch name.
  const bool selects = !options.selection.kernels.empty() || !options.selection.launches.empty();
  sandbox::Access access{.write = {output, lcov},
                         .programs = true,
                         .data_bytes = data_limit(options.limits.memory_bytes)};
  if (selects) access.read = {paths.begin(), paths.end()};
  for (const size_t place : own) access.read.emplace_back(paths[place]);
  if (const int code = enter_sandbox("check", no_sandbox, access); code >= 0) return code;
  options.selection.several_traces = paths.size() > 1;
  const Request request{options, std::move(*suppressions), std::move(*known), fail_on,
                        torn,    coverage || !lcov.empty()};
  if (const Result<void> found = check_selection(paths, request); !found)
    return report(found.error());
  CheckOutput reports;
  check::Part part = part_of(shard.value_or(check::Shard()), paths, request, given);
  for (const size_t place : own) {
    const std::string& name = program.record ? program.name : paths[place];
    Outcome outcome = check_one(paths[place], name, request, reports.used);
    reports.code = worse_of(reports.code, outcome.code);
    if (shard)
      part.traces.push_back({place, std::move(outcome.trace), static_cast<uint32_t>(outcome.code)});
    else
      reports.traces.push_back(std::move(outcome.trace));
  }
  if (!shard) {
    reports.suppressions = request.suppressions;
    return print_reports(std::move(reports), given.format, given.with_code, *file, *lcov_file);
  }
  part.used = std::move(reports.used);
  part.used.resize(part.suppressions.size());
  if (const int code = write_output(**file, check::encode(part)); code >= 0) return code;
  print("{}: shard {} of {}, {} of {}\n", output, shard->number, shard->of, own.size(),
        counted(paths.size(), "trace"));
  return kExitOk;
}

}  // namespace gfxgraph::tools
