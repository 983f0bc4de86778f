// gfxgraph merge: joins the parts that the shards of a check wrote.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/print.h"
#include "check/shard/merge.h"
#include "tools/check/check_output.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/result_file.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

Result<check::Part> read_part(const std::string& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, read_result(path));
  return check::decode(document, GFXGRAPH_VERSION);
}

// Why the parts make no report.
int refuse(const std::vector<Error>& problems) {
  bool different = false;
  for (const Error& problem : problems) {
    console::error(with_advice(problem));
    different = different || problem.status == Status::kInvalidArgument ||
                problem.status == Status::kVersion;
  }
  return different ? kExitUsage : kExitDataLost;
}

std::string value_of(const check::Part& run, std::string_view name) {
  const auto found = std::ranges::find(run.options, name, &check::PartOption::name);
  return found == run.options.end() ? "" : found->value;
}

CheckOutput output_of(check::Part run) {
  CheckOutput output;
  for (check::PartTrace& one : run.traces) {
    output.code = worse_of(output.code, static_cast<int>(one.exit_code));
    output.traces.push_back(std::move(one.trace));
  }
  for (std::string& where : run.suppressions)
    output.suppressions.emplace_back().where = std::move(where);
  output.used = std::move(run.used);
  // As the check of one trace says it, in place of a report.
  if (output.traces.size() == 1 && !output.traces.front().report)
    console::error(output.traces.front().error);
  return output;
}

}  // namespace

int merge_command(int argc, char** argv) {
  CLI::App app(
      "Joins the parts that all shards of a check wrote (gfxgraph check --shard K/N) into the "
      "report of one process that checks all traces, byte by byte the same. The parts may come in "
      "any order. Exit code: that of this one process; 2: wrong command line, or parts of "
      "different runs; 3: a shard is missing, broken, or there twice with different reports.\n\n"
      "Example: gfxgraph merge *.part -o check.txt",
      "gfxgraph merge");
  std::vector<std::string> paths;
  std::string output;
  std::string format_name;
  bool with_code = false;
  ReadLimits limits;
  app.add_option("PART", paths, "files that gfxgraph check --shard wrote")->required();
  app.add_option("-o,--output", output, "write the report to this file")->type_name("FILE");
  app.add_option("--format", format_name,
                 "text, json or sarif, in place of the --format of the shards")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_flag("--disassembly", with_code, "as gfxgraph check --disassembly");
  std::string lcov;
  app.add_option("--lcov", lcov,
                 "write the executed lines to this lcov tracefile, of shards with --coverage")
      ->type_name("FILE");
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  Result<std::optional<NewFile>> file = open_output(output, paths);
  if (!file) {
    report(file.error());
    return kExitUsage;
  }
  std::vector<std::string> others = paths;
  others.push_back(output);
  Result<std::optional<NewFile>> lcov_file = open_output(lcov, others);
  if (!lcov_file) {
    report(lcov_file.error());
    return kExitUsage;
  }
  enforce("merge", limits);
  const sandbox::Access access{.read = {paths.begin(), paths.end()}, .write = {output, lcov}};
  if (const int code = enter_sandbox("merge", no_sandbox, access); code >= 0) return code;
  std::vector<check::PartFile> files;
  for (const std::string& path : paths) files.push_back({path, read_part(path)});
  check::MergedParts merged = check::merge(std::move(files));
  for (const std::string& same : merged.repeated) note(same);
  if (!merged.problems.empty()) return refuse(merged.problems);
  if (format_name.empty()) format_name = value_of(merged.run, "--format");
  with_code = with_code || value_of(merged.run, "--disassembly") == "true";
  if (*lcov_file && value_of(merged.run, "--coverage") != "true") {
    return console::usage_error("--lcov: the shards did not count what is executed",
                                "give them --coverage");
  }
  return print_reports(output_of(std::move(merged.run)), format_name, with_code, *file, *lcov_file);
}

}  // namespace gfxgraph::tools
