#include "replayer/tool/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/cli/common_options.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/help_text.h"
#include "base/cli/option_error.h"
#include "base/cli/print.h"

namespace gfxgraph::replayer {
namespace {

constexpr size_t kBenchRounds = 31;

}  // namespace

std::optional<int> parse_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{
      "Replays a trace made by gfxgraph-record, and compares memory with the "
      "recording.\n\nExample: "
      "gfxgraph-replay app.gfxg --mode graph --layout shift --repeat 41\n"};
  app.name("gfxgraph-replay");
  app.add_option("TRACE", arguments.trace, "the trace (.gfxg)")->required();
  app.add_option(
         "--mode", arguments.mode,
         "eager: calls as recorded; batch: one loop; graph: one hipGraph; packets: prebuilt AQL "
         "packets in an HSA queue; auto: the fastest of them")
      ->check(CLI::IsMember({"eager", "batch", "graph", "packets", "auto"}));
  app.add_option("--auto-seconds", arguments.auto_seconds,
                 fmt::format("mode auto: measure for at most this time; each mode runs once, "
                             "unless the first takes all of it (default {})",
                             kDefaultAutoSeconds))
      ->check(CLI::Range(0.0, 1e9));
  auto* repeat =
      app.add_option("--repeat", arguments.repeat, "timed runs, each from the initial state")
          ->check(CLI::Range(1, 1000000000));
  auto* layout =
      app.add_option(
             "--layout", arguments.layout,
             "same: as the allocator places buffers (recorded addresses cannot be requested; "
             "the report counts the equal ones); "
             "shift: put every buffer at another address")
          ->check(CLI::IsMember({"same", "shift"}));
  auto* range =
      app.add_option("--range", arguments.range,
                     "only this range of the trace: NAME, the first one of that name, or "
                     "NAME#N; without markers period#P, or period#P#N, a repetition of period P of "
                     "gfxgraph info --ranges. The part of the trace before it runs once, to "
                     "prepare memory");
  auto* list =
      app.add_flag("--list", arguments.list,
                   "print the parameters and buffers of the trace or range, and do nothing else");
  auto* iterations =
      app.add_option(
             "--iterations", arguments.iterate.iterations,
             "after a verified replay, run the range this many times, the first time as recorded; "
             "parameters advance as they did between the recorded iterations")
          ->check(CLI::Range(1, 1000000000))
          ->needs(range);
  app.add_option("--set", arguments.iterate.set,
                 "PARAMETER=VALUE (may be negative) in all iterations, or PARAMETER=+STEP from one "
                 "to the next (a negative step: =+-5)")
      ->needs(range);
  app.add_option(
      "--input", arguments.iterate.inputs,
      "NAME=FILE: bytes of an input, for all iterations or one piece for each; or BUFFER=FILE, "
      "BUFFER+OFFSET=FILE: bytes of the buffer before the first iteration");
  app.add_option(
      "--output", arguments.iterate.outputs,
      "NAME=FILE: write the bytes of an output in all iterations to FILE; or BUFFER=FILE, "
      "BUFFER+OFFSET:BYTES=FILE: the buffer's bytes after the last iteration");
  auto* verify =
      app.add_flag("--verify", arguments.verify,
                   "compare memory after every run, not only after the first and the last");
  auto* no_verify =
      app.add_flag("--no-verify", arguments.no_verify, "never compare; suppresses timings")
          ->excludes(verify);
  auto* bisect = app.add_flag("--bisect", arguments.bisect, "if memory differs, find the launch");
  app.add_flag("--bench", arguments.bench,
               fmt::format("measure all modes (or --mode) beside each other: --repeat rounds "
                           "(default {}) in rotated order, outputs compared",
                           kBenchRounds))
      ->excludes("--no-verify")
      ->excludes(bisect)
      ->excludes("--iterations");
  app.add_option("--memory", arguments.memory,
                 "apart: each buffer in its own memory (default if memory is compared); packed: "
                 "buffers with disjoint lifetimes in the same memory (default with --no-verify); "
                 "their contents are then kept in host memory for the comparison")
      ->check(CLI::IsMember({"auto", "apart", "packed"}));
  app.add_option("--order", arguments.order,
                 "recorded (default), or proven: modes graph and packets wait only for work "
                 "that touches the same memory, by the code of the kernels (gfxgraph info "
                 "--order); each buffer has its own memory")
      ->check(CLI::IsMember({"recorded", "proven"}));
  app.add_flag("--allow-incomplete", arguments.allow_incomplete,
               "replay a trace that lacks recorded calls");
  app.add_flag("--allow-host-calls", arguments.allow_host_calls,
               "let kernels call functions of this process by address (host call services other "
               "than printf); only for trusted traces");
  app.add_flag("--allow-torn", arguments.allow_torn,
               "replay a damaged or unfinished trace up to the damage");
  app.add_option("--device", arguments.device,
                 "auto (a GPU if there is one), real or emulated (the software agent)")
      ->check(CLI::IsMember({"auto", "real", "emulated"}))
      ->capture_default_str();
  app.add_option(
      "--map", arguments.device_map,
      "RECORDED:DEVICE,...: the device, as HIP counts, that does the work of each of the "
      "program's devices; the same for all (default: HIP's current device)");
  app.add_option("--pointers", arguments.pointers,
                 "which words are relocated: proven: as gfxgraph provenance --write found, typed: "
                 "those whose type says so, matched: all that look like addresses (default: proven "
                 "if the trace says it, else matched)")
      ->check(CLI::IsMember({"proven", "typed", "matched"}));
  app.add_option("--ambiguous", arguments.ambiguous,
                 "words that only look like pointers: relocate or keep them")
      ->check(CLI::IsMember({"relocate", "keep"}));
  auto* fresh =
      app.add_option(
             "--fresh", arguments.fresh,
             fmt::format("initial bytes of memory that was unwritten when the program got it: "
                         "zeros, or {:#x}",
                         kPoison))
          ->check(CLI::IsMember({"zero", "poison"}));
  app.add_flag("--prove", arguments.prove,
               "replay and compare three times, each time in a process of its own: with the "
               "buffers at two sets of addresses, and over poisoned memory. Mode batch unless "
               "--mode names another one")
      ->excludes(layout)
      ->excludes(no_verify)
      ->excludes(list)
      ->excludes(iterations)
      ->excludes(fresh)
      ->excludes("--bench");
  app.add_option(
      "--graph-max-nodes", arguments.graph_max_nodes,
      fmt::format("split graphs into parts of at most this many nodes; 0: {}, because long chains "
                  "overflow the stack inside HIP runtimes",
                  kMaxGraphNodes));
  app.add_flag("--graph-linear", arguments.graph_linear,
               "make each graph a chain in recorded order");
  app.add_option(
         "--max-seconds", arguments.max_seconds,
         "end a replay that takes longer, and print its current activity; 0: never (default "
         "3600)")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--cap,--max-memory", arguments.max_memory,
                 "refuse a trace that needs more bytes of host and device memory; 0: the memory of "
                 "device and machine (default)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--max-operations", arguments.max_operations,
                 fmt::format("refuse a trace with more operations, the nodes of launched graphs "
                             "counted at each launch (default {})",
                             kDefaultMaxOperations));
  auto* json =
      app.add_option("--json", arguments.json,
                     "print JSON in place of the text report, or write it to this file beside the "
                     "report")
          ->type_name("[FILE]")
          ->expected(0, 1);
  app.formatter(
      std::make_shared<HelpFormatter<CLI::Formatter, CLI::Option, CLI::App, CLI::AppFormatMode>>());
  add_common_options(app, "no messages and no text report; errors only", GFXGRAPH_VERSION_TEXT);
  app.footer(
      "Exit codes: 0 identical (or --no-verify), 1 failed or different, 2 usage, 3 damaged or "
      "incomplete trace, or not everything could be compared, or the program's results vary from "
      "run to run, 130 Ctrl-C ended the runs.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_text(stdout, help_text(app));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // --version
    return console::usage_error(option_error(app, error), "see gfxgraph-replay --help");
  }
  if (arguments.bisect && arguments.memory == "packed") {
    console::error("--bisect needs separate buffers; omit --memory packed");
    return kExitUsage;
  }
  if (arguments.order == "proven" && arguments.memory == "packed") {
    console::error("--order proven needs separate buffers; omit --memory packed");
    return kExitUsage;
  }
  if (arguments.order == "proven" && (arguments.mode == "eager" || arguments.mode == "batch")) {
    console::error(
        fmt::format("mode {} keeps the recorded order; --order proven is for modes graph, packets "
                    "and auto",
                    arguments.mode));
    return kExitUsage;
  }
  if (json->count() != 0 && arguments.json.empty()) arguments.json = "-";
  if (arguments.bench && repeat->count() == 0) arguments.repeat = kBenchRounds;
  return std::nullopt;
}

}  // namespace gfxgraph::replayer
