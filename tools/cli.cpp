#include "tools/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string_view>

#include "base/cli/common_options.h"
#include "base/cli/help_text.h"
#include "base/cli/option_error.h"
#include "base/cli/print.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {
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
  app.formatter(
      std::make_shared<HelpFormatter<CLI::Formatter, CLI::Option, CLI::App, CLI::AppFormatMode>>());
  add_common_options(app, "no progress and no notes on stderr; errors only", GFXGRAPH_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_text(stdout, help_text(app));
    return kExitOk;
  } catch (const CLI::Success& success) {
    app.exit(success);  // prints the version
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return console::usage_error(option_error(app, error, starts_programs),
                                "see " + app.get_name() + " --help");
  }
  return -1;
}

std::unique_ptr<ProgressLine> make_progress() {
  return std::make_unique<ProgressLine>(!console::options().quiet && ProgressLine::on_terminal());
}

std::function<void(uint64_t done, uint64_t total)> count_on(ProgressLine& line,
                                                            const std::string& text) {
  if (!line.listens()) return {};
  return [&line, text](uint64_t done, uint64_t total) { line.at(text, done, total); };
}

void add_json(CLI::App& app, bool& json) { app.add_flag("--json", json, "print JSON"); }

void note(const std::string& text) { console::message("note: " + text); }

void describe(const std::string& path, const format::Trace& trace) {
  if (!console::options().verbose) return;
  const format::Statistics& counts = trace.statistics();
  console::detail(fmt::format(
      "{}: {}, {} of {} in {}, {}, {} of contents{}", path, counted(counts.events, "event"),
      counted(counts.launches, "launch"), counted(counts.kernels, "kernel"),
      counted(trace.code_objects().size(), "code object"),
      counted(counts.allocations, "allocation"), format_bytes(counts.stored_blob_bytes),
      trace.sealed() ? "" : "; truncated"));
}

void wrote(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (!error) console::detail(fmt::format("wrote {}: {}", path, format_bytes(bytes)));
}

std::string with_advice(const Error& error) {
  if (error.status != Status::kOutOfMemory || error.message.find("--max-") != std::string::npos)
    return error.message;
  return fmt::format("{}; {}", error.message, kMoreMemory);
}

int reader_exit_code(Status status) noexcept {
  return status == Status::kOutOfMemory ? kExitDataLost : exit_code(status);
}

int report(const Error& error) {
  console::error(with_advice(error));
  return reader_exit_code(error.status);
}

}  // namespace gfxgraph::tools
