// gfxgraph: picks the command from a table and hands it the rest of the arguments.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/help_text.h"
#include "base/cli/output.h"
#include "base/cli/print.h"
#include "base/cli/suggestion.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/report/report_page.h"

namespace gfxgraph::tools {
namespace {

struct Command {
  const char* name;
  const char* arguments;
  const char* summary;
  int (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"record", "[-o T.gfxg] [options] -- PROGRAM ARGS...",
     "record the GPU work of a HIP program into a trace (gfxgraph-record)", record_command},
    {"replay", "TRACE [--mode eager|batch|graph|auto]",
     "replay a trace without its program, and compare memory (gfxgraph-replay)", replay_command},
    {"run", "[--device emulated] -- PROGRAM ARGS...", "run a HIP program on the software agent",
     run_command},
    {"accelerate", "[--json FILE] -- PROGRAM ARGS...",
     "run a HIP program; submit launches that repeat as graphs where that is faster",
     accelerate_command},
    {"info",
     "TRACE|MANIFEST [--ranges] [--lint] [--relocations] [--dag text|json|dot] [--order] [--json]",
     "print a summary of a trace, or tables of its kernels, launches and buffers", info_command},
    {"check", "TRACE... [--tool LIST] [--kernel GLOB] [--launch N[:M]] [--format text|json|sarif]",
     "execute every launch in the emulator; report memory, lane and barrier errors", check_command},
    {"merge", "PART... [-o FILE] [--format text|json|sarif]",
     "join the parts of gfxgraph check --shard K/N into the report of one process", merge_command},
    {"provenance", "TRACE [--write [-o NEW]]",
     "prove in the emulator which words of a trace are pointers", provenance_command},
    {"coverage", "FILE... [--kernels] [--waits] [--json]",
     "list which kernels of a file the emulator supports, or find their missing waits",
     coverage_command},
    {"verify", "TRACE [--json]", "read a whole trace and check its hashes", verify_command},
    {"recover", "TRACE [-o NEW] [--json]",
     "copy the intact records of a damaged trace to a new one", recover_command},
    {"diff", "FIRST SECOND [--json]", "compare kernels, launches and buffers of two traces",
     diff_command},
    {"extract",
     "TRACE -o NEW --range NAME|--launches N:M|--kernel GLOB|--pieces N [--standalone FOLDER]",
     "write a part of a trace as a trace that replays alone, or one kernel as a HIP program",
     extract_command},
    {"export", "TRACE --format perfetto|jsonl|dot|code|disassembly [-o FILE]",
     "convert a trace: timeline, JSON lines, graphs, code objects, disassembly", export_command},
    {"report", "TRACE [RESULT.json...] [-o FILE.html]",
     "write one HTML page: timeline, kernels, buffers, graphs, findings, times", report_command},
    {"doctor", "[--device auto|real|emulated] [--gpu N] [--json [FILE]]",
     "check runtimes, devices and permissions, and a step in every mode", doctor_command},
};

void print_help() {
  const size_t columns = help_columns();
  const auto show = [&](std::string_view text, size_t indent) {
    write_text(stdout, wrap_lines(text, columns, indent));
  };
  show(
      "Examples:\n"
      "  gfxgraph run -- ./app --size 4096       run a HIP program without a GPU\n"
      "  gfxgraph-record -o app.gfxg -- ./app    record it\n"
      "  gfxgraph check app.gfxg                 check its kernels for memory and barrier errors\n"
      "\nUsage: gfxgraph COMMAND ARGUMENTS...   (gfxgraph COMMAND --help lists its options)\n\n",
      2);
  for (const Command& command : kCommands) {
    const bool refused = command.run == report_command && page_files().empty();
    show(fmt::format("  {:<10} {}\n  {:<10}   {}{}\n", command.name, command.arguments, "",
                     command.summary, refused ? " (refused: built without D3)" : ""),
         17);
  }
  show(
      "\nAll commands: --help, --version, --quiet, --verbose, --color auto|always|never "
      "(NO_COLOR is respected)\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 trace damaged or incomplete, 4 check or "
      "doctor found errors\n",
      2);
}

// A file in place of a command: the command that takes it.
std::string file_hint(std::string_view name) {
  return fmt::format("; for a {} use gfxgraph {}{}", name.ends_with(".gfxg") ? "trace" : "program",
                     name.ends_with(".gfxg") ? "info " : "run -- ", name);
}

constexpr const char* kSeeHelp = "see gfxgraph --help";

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kExitOk;
  }
  if (name == "--version" || name == "version") {
    print("gfxgraph {}\n", GFXGRAPH_VERSION);
    return kExitOk;
  }
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(argc - 1, argv + 1);
  }
  if (name.empty()) {
    return console::usage_error("no command given", kSeeHelp);
  }
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  const bool file = name.find('/') != name.npos || name.ends_with(".gfxg");
  return console::usage_error(fmt::format("unknown command '{}'{}", name,
                                          file ? file_hint(name) : did_you_mean(name, known)),
                              kSeeHelp);
}

// std::bad_alloc may also arise where nothing may throw: nlohmann's JSON allocates in its
// destructor.
[[noreturn]] void out_of_memory_at_the_end() noexcept {
  try {
    if (const std::exception_ptr current = std::current_exception())
      std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    console::error_without_memory(kOutOfMemory);
    ::_exit(kExitDataLost);
  } catch (...) {
    // A defect: a crash, as without this handler.
  }
  std::abort();
}

}  // namespace
}  // namespace gfxgraph::tools

int main(int argc, char** argv) {
  gfxgraph::reserve_standard_descriptors();
  std::set_terminate(gfxgraph::tools::out_of_memory_at_the_end);
  int code = gfxgraph::kExitFailed;
  // The libraries return errors as values; what still arrives here is the standard library's.
  try {
    code = gfxgraph::tools::dispatch(argc, argv);
  } catch (const std::bad_alloc&) {
    code = gfxgraph::kExitDataLost;
    gfxgraph::console::error_without_memory(gfxgraph::tools::kOutOfMemory);
  } catch (const std::exception& error) {
    gfxgraph::console::error(error.what());
  }
  code = gfxgraph::finish_output("gfxgraph", code);
  gfxgraph::console::finish(code);
  return code;
}
