// gfxgraph recover: makes a sealed trace of what is readable in a torn one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/cli/print.h"
#include "base/file/new_file.h"
#include "format/read/recover.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPartial = ".partial";

// A recording that died left x.gfxg.partial: its natural new name is x.gfxg, if that is free.
bool default_output(const std::string& input, std::string& output) {
  if (!input.ends_with(kPartial)) {
    console::error(fmt::format("name the new trace: gfxgraph recover {} -o NEW", input));
    return false;
  }
  output = input.substr(0, input.size() - kPartial.size());
  std::error_code error;
  if (!std::filesystem::exists(output, error)) return true;
  console::error(fmt::format("{} exists: name another file with -o", output));
  return false;
}

std::string render_json(const std::string& input, const std::string& output,
                        const format::RecoverReport& report) {
  const Json json = {{"schema", "gfxgraph-recover/1"},
                     {"input", input},
                     {"output", output},
                     {"intact", report.intact},
                     {"reason", report.reason},
                     {"records", report.kept_records},
                     {"events", report.statistics.events},
                     {"launches", report.statistics.launches},
                     {"kept_bytes", report.kept_bytes},
                     {"lost_bytes", report.lost_bytes}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int recover_command(int argc, char** argv) {
  CLI::App app(
      "Copies every whole record of a damaged trace into a new, sealed one. Exit code 0: nothing "
      "was\n"
      "lost; 3: the new trace lacks the damaged part, and is marked incomplete.\n\n"
      "Example: gfxgraph recover app.gfxg.partial -o app.gfxg",
      "gfxgraph recover");
  std::string input, output;
  bool json = false;
  ReadLimits limits;
  app.add_option("TRACE", input, "damaged trace")->required();
  app.add_option("-o,--output", output, "new trace (default: the name without .partial)");
  add_json(app, json);
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("recover", limits);
  if (output.empty() && !default_output(input, output)) return kExitUsage;
  if (const Result<void> fine = check_distinct(std::span(&output, 1), std::span(&input, 1)); !fine)
    return report(fine.error());
  const sandbox::Access access{.read = {input}, .write = {output}};
  if (const int code = enter_sandbox("recover", no_sandbox, access); code >= 0) return code;

  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("copying " + input);
  const Result<format::RecoverReport> recovered = format::recover(input, output);
  progress->clear();
  if (!recovered) return report(recovered.error());
  wrote(output);
  if (json) {
    write_text(stdout, render_json(input, output, *recovered));
  } else {
    print("{}: {}, {}, {}\n", output, counted(recovered->kept_records, "record"),
          counted(recovered->statistics.events, "event"),
          counted(recovered->statistics.launches, "launch"));
  }
  if (recovered->intact) return kExitOk;
  console::error(fmt::format("{}: {} of {} lost: {}", input, format_bytes(recovered->lost_bytes),
                             format_bytes(recovered->kept_bytes + recovered->lost_bytes),
                             recovered->reason));
  return kExitDataLost;
}

}  // namespace gfxgraph::tools
