#include "tools/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/option_error.h"
#include "base/print.h"

namespace gfxgraph::tools {
namespace {

bool quiet = false;  // --quiet of the command that runs

}  // namespace

SplitArguments split_arguments(int argc, char** argv) {
  SplitArguments split;
  for (int i = 0; i < argc; ++i) {
    if (!split.has_program && i > 0 && std::string_view(argv[i]) == "--") {
      split.has_program = true;
    } else {
      (split.has_program ? split.program : split.own).push_back(argv[i]);
    }
  }
  return split;
}

int parse(CLI::App& app, int argc, char** argv, bool starts_programs) {
  app.add_flag("--quiet", quiet, "no progress and no notes on stderr; errors only");
  app.set_version_flag("--version", std::string("gfxgraph ") + GFXGRAPH_VERSION,
                       "print the version of gfxgraph");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success);  // prints the help
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    print(stderr, "gfxgraph: {}\nsee {} --help\n", option_error(app, error, starts_programs),
          app.get_name());
    return kExitUsage;
  }
  return -1;
}

std::unique_ptr<ProgressLine> make_progress() {
  return std::make_unique<ProgressLine>("gfxgraph", !quiet && ProgressLine::on_terminal());
}

std::function<void(uint64_t done, uint64_t total)> count_on(ProgressLine& line,
                                                            const std::string& text) {
  if (!line.shown()) return {};
  return [&line, text](uint64_t done, uint64_t total) { line.at(text, done, total); };
}

void add_json(CLI::App& app, bool& json) { app.add_flag("--json", json, "print JSON"); }

void note(const std::string& text) {
  if (!quiet) print(stderr, "gfxgraph: note: {}\n", text);
}

int report(const Error& error) {
  print(stderr, "gfxgraph: {}\n", error.message);
  return exit_code(error.status);
}

std::string format_bytes(unsigned long long bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace gfxgraph::tools
