// gfxgraph verify: reads everything in a trace, lists what is damaged, and says whether it is
// whole.
#include "format/read/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/cli/output.h"
#include "base/cli/print.h"
#include "format/read/reader.h"
#include "format/read/recover.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

int print_problems(const std::string& path, const format::VerifyReport& report) {
  for (const format::Problem& problem : report.problems) {
    console::error(fmt::format("{}: byte {}: {}: {}", path, problem.offset,
                               status_name(problem.status), problem.message));
  }
  if (report.problems_cut) console::error(fmt::format("{}: more problems were found", path));
  return reader_exit_code(report.problems.front().status);
}

// An intact file may still lack calls of the program.
int print_incomplete(const format::Trace& trace) {
  if (trace.complete()) return kExitOk;
  for (const format::Finding& finding : trace.findings()) {
    if (finding.kind != format::FindingKind::kIncomplete) continue;
    if (format::is_cut(finding)) {
      console::error("incomplete: cut off: " + finding.detail);
      continue;
    }
    console::error(fmt::format("incomplete: {} x {}{}{}", finding.count, finding.call,
                               finding.detail.empty() ? "" : ": ", finding.detail));
  }
  return kExitDataLost;
}

std::string render_json(const std::string& path, const format::VerifyReport& report,
                        bool complete) {
  Json problems = Json::array();
  for (const format::Problem& problem : report.problems) {
    problems.push_back({{"offset_bytes", problem.offset},
                        {"status", status_name(problem.status)},
                        {"message", problem.message}});
  }
  const Json json = {{"schema", "gfxgraph-verify/1"},
                     {"trace", path},
                     {"intact", report.problems.empty()},
                     {"complete", report.problems.empty() && complete},
                     {"file_bytes", report.file_bytes},
                     {"records", report.records},
                     {"blobs", report.blobs},
                     {"problems", std::move(problems)},
                     {"problems_cut", report.problems_cut}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int verify_command(int argc, char** argv) {
  CLI::App app(
      "Reads every byte of a trace and checks its hashes. Exit code 3: damaged, truncated or "
      "incomplete.\n\n"
      "Example: gfxgraph verify app.gfxg",
      "gfxgraph verify");
  std::string path;
  bool json = false;
  ReadLimits limits;
  app.add_option("TRACE", path, "trace file")->required();
  add_json(app, json);
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("verify", limits);
  if (const int code = enter_sandbox("verify", no_sandbox, {.read = {path}}); code >= 0)
    return code;

  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("checking every byte of " + path);
  const Result<format::VerifyReport> verified = format::verify(path);
  progress->clear();
  if (!verified) return report(verified.error());
  if (!verified->problems.empty()) {
    if (json) write_text(stdout, render_json(path, *verified, false));
    return print_problems(path, *verified);
  }
  const Result<std::shared_ptr<const format::Trace>> trace = format::Trace::open(path);
  if (!trace) return report(trace.error());
  describe(path, **trace);
  if (json) {
    write_text(stdout, render_json(path, *verified, (*trace)->complete()));
  } else {
    print("{}: {}, {}, {}: intact\n", path, counted(verified->records, "record"),
          counted(verified->blobs, "blob"), format_bytes(verified->file_bytes));
  }
  return print_incomplete(**trace);
}

}  // namespace gfxgraph::tools
