// Shared by the commands: parsing with the exit codes of the contract, and printing errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "base/cli/console.h"
#include "base/cli/exit_code.h"
#include "base/cli/progress.h"
#include "base/demangle.h"
#include "base/result.h"

namespace CLI {
class App;
}
namespace gfxgraph::format {
class Trace;
}

namespace gfxgraph::tools {

// The arguments of a program to start are split off at the first "--", before any parsing: options
// of that program are never ours, and unknown options of ours are never passed on.
struct SplitArguments {
  std::vector<char*> own;      // argv[0] and what stands before "--"
  std::vector<char*> program;  // what stands behind it
  bool has_program = false;    // whether there was a "--"
};
SplitArguments split_arguments(int argc, char** argv);

// Parses strictly, with the options of all commands (base/cli/common_options.h). -1: continue.
// Otherwise the exit code: 0 after --help, 2 after a usage error, whose message went to stderr.
// `starts_programs`: the command is followed by a program's command line.
int parse(CLI::App& app, int argc, char** argv, bool starts_programs = false);

// The line of progress of a command whose arguments have been parsed: on terminals, without
// --quiet.
std::unique_ptr<ProgressLine> make_progress();
// Draws "<text> 12 of 345, ..." on `line`, which must outlive it; empty if nothing is shown.
std::function<void(uint64_t done, uint64_t total)> count_on(ProgressLine& line,
                                                            const std::string& text);
// Prints "gfxgraph: note: <text>" on stderr, without --quiet.
void note(const std::string& text);
// --verbose: what an opened trace holds.
void describe(const std::string& path, const format::Trace& trace);
// --verbose: a file that was written, with its size.
void wrote(const std::string& path);

// --json of commands whose result has a JSON form, on stdout.
void add_json(CLI::App& app, bool& json);

// Where a command needs more memory than it may have, by whichever limit: what to do.
inline constexpr std::string_view kMoreMemory =
    "raise --max-memory, or the limit of the shell (ulimit -d)";
// The same as a whole line, for std::bad_alloc.
inline constexpr std::string_view kOutOfMemory =
    "not enough memory; raise --max-memory, or the limit of the shell (ulimit -d)";

// The message, with kMoreMemory for kOutOfMemory if it names no budget.
std::string with_advice(const Error& error);
// Of a command that reads a trace: a limit that is reached is kExitDataLost.
int reader_exit_code(Status status) noexcept;
// "gfxgraph: <with_advice(error)>" on stderr; returns reader_exit_code().
int report(const Error& error);

}  // namespace gfxgraph::tools
