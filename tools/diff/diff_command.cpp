// gfxgraph diff: what differs between two traces.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/print.h"
#include "base/demangle.h"
#include "format/read/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/diff/bench_diff.h"
#include "tools/diff/trace_diff.h"
#include "tools/read_limits.h"
#include "tools/result_file.h"
#include "tools/trace/event_json.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostDifferences = 20;  // of one kind, as text

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

// At most kMostDifferences lines, and how many more there are.
template <typename Items, typename Line>
void print_list(const char* title, const Items& items, uint64_t count, Line&& line) {
  if (count == 0) return;
  print("{}: {}\n", title, count);
  const size_t shown = std::min(kMostDifferences, items.size());
  for (size_t i = 0; i < shown; ++i) print("  {}\n", line(items[i]));
  if (count > shown) print("  and {} more: --json lists them\n", count - shown);
}

std::string run_text(const LaunchRun& run) {
  const std::string name = demangle(run.kernel);
  if (run.count == 1) return fmt::format("{}  {}", run.begin, name);
  return fmt::format("{}..{}  {} ...", run.begin, run.begin + run.count - 1, name);
}

uint64_t launches_in(const std::vector<LaunchRun>& runs) {
  uint64_t count = 0;
  for (const LaunchRun& run : runs) count += run.count;
  return count;
}

void print_text(const TraceDiff& diff) {
  const auto readable = [](const std::string& name) { return demangle(name); };
  const auto itself = [](const std::string& name) { return name; };
  for (const std::string& line : diff.environment) print("{}\n", line);
  print_list("kernels only in the first", diff.kernels_gone, diff.kernels_gone.size(), readable);
  print_list("kernels only in the second", diff.kernels_added, diff.kernels_added.size(), readable);
  print_list("kernels that changed", diff.kernels_changed, diff.kernels_changed.size(),
             [](const KernelChange& change) {
               return demangle(change.name) + ": " + joined(change.what);
             });
  print("launches: {} and {}, {} at the same place\n", diff.launches[0], diff.launches[1],
        diff.aligned);
  if (diff.alignment_given_up)
    print("  too different to align: only the common beginning and end are aligned\n");
  const auto runs = [](const char* title, const std::vector<LaunchRun>& list) {
    print_list(title, list, list.size(), run_text);
  };
  if (!diff.launches_gone.empty())
    print("{} only in the first\n", counted(launches_in(diff.launches_gone), "launch"));
  runs("  in stretches", diff.launches_gone);
  if (!diff.launches_added.empty())
    print("{} only in the second\n", counted(launches_in(diff.launches_added), "launch"));
  runs("  in stretches", diff.launches_added);
  print_list("launches that changed", diff.launches_changed, diff.launches_changed_count,
             [](const LaunchChange& change) {
               const std::string place = change.first == change.second
                                             ? fmt::format("{}", change.first)
                                             : fmt::format("{} / {}", change.first, change.second);
               return fmt::format("{}  {}: {}", place, demangle(change.kernel),
                                  joined(change.what));
             });
  if (diff.buffers_compared == 0)
    print("buffers: none to compare: no buffer has its final contents in both\n");
  else
    print("buffers: {} compared\n", diff.buffers_compared);
  print_list("buffers only in the first", diff.buffers_gone, diff.buffers_gone.size(), itself);
  print_list("buffers only in the second", diff.buffers_added, diff.buffers_added.size(), itself);
  print_list("buffers that changed", diff.buffers_changed, diff.buffers_changed.size(),
             [](const BufferChange& change) { return change.name + ": " + change.what; });
  if (diff.same()) print("no difference: identical in all that was compared\n");
}

Json runs_json(const std::vector<LaunchRun>& runs) {
  Json list = Json::array();
  for (const LaunchRun& run : runs)
    list.push_back({{"begin", run.begin}, {"count", run.count}, {"kernel", run.kernel}});
  return list;
}

void print_json(const TraceDiff& diff) {
  Json kernels = Json::array();
  for (const KernelChange& change : diff.kernels_changed)
    kernels.push_back({{"name", change.name}, {"what", change.what}});
  Json launches = Json::array();
  for (const LaunchChange& change : diff.launches_changed) {
    launches.push_back({{"first", change.first},
                        {"second", change.second},
                        {"kernel", change.kernel},
                        {"what", change.what}});
  }
  Json buffers = Json::array();
  for (const BufferChange& change : diff.buffers_changed)
    buffers.push_back({{"name", change.name}, {"what", change.what}});
  const Json json = {{"schema", "gfxgraph-diff/1"},
                     {"same", diff.same()},
                     {"environment", diff.environment},
                     {"kernels",
                      {{"gone", diff.kernels_gone},
                       {"added", diff.kernels_added},
                       {"changed", std::move(kernels)}}},
                     {"launches",
                      {{"first", diff.launches[0]},
                       {"second", diff.launches[1]},
                       {"aligned", diff.aligned},
                       {"given_up", diff.alignment_given_up},
                       {"gone", runs_json(diff.launches_gone)},
                       {"added", runs_json(diff.launches_added)},
                       {"changed_count", diff.launches_changed_count},
                       {"changed", std::move(launches)}}},
                     {"buffers",
                      {{"compared", diff.buffers_compared},
                       {"gone", diff.buffers_gone},
                       {"added", diff.buffers_added},
                       {"changed", std::move(buffers)}}}};
  write_text(stdout, json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

// `slower_by`: the limit of --fail-if-slower.
int diff_results(const std::string& first, const std::string& second, bool json,
                 std::optional<double> slower_by) {
  Result<Json> before = read_result(first);
  if (!before) return report(before.error());
  Result<Json> after = read_result(second);
  if (!after) return report(after.error());
  const Result<BenchDiff> diff = diff_benches(*before, *after);
  if (!diff) return report(diff.error());
  const std::string text =
      json ? bench_diff_json(*diff).dump(2, ' ', true) + "\n" : bench_diff_text(*diff);
  write_text(stdout, text);
  const bool fails = slower_by ? diff->worse(*slower_by) : !diff->same();
  return fails ? kExitFailed : kExitOk;
}

}  // namespace

int diff_command(int argc, char** argv) {
  CLI::App app(
      "Compares two traces: kernels (code, arguments, registers), launches in\n"
      "the order of the program, and final contents of buffers that have the same name.\n"
      "Exit code 0: no difference; 1: some; 3: none, but a trace is truncated or incomplete.\n"
      "Of two results of gfxgraph-replay --bench --json: times that differ beyond their spread.\n\n"
      "Example: gfxgraph diff before.gfxg after.gfxg",
      "gfxgraph diff");
  std::string first, second;
  bool json = false;
  ReadLimits limits;
  app.add_option("FIRST", first, "trace file, or result of --bench")->required();
  app.add_option("SECOND", second, "the other one")->required();
  std::optional<double> slower_by;
  app.add_option("--fail-if-slower", slower_by,
                 "of two results: exit code 1 only if outputs differ, or if a median of the second "
                 "is higher by more than this and beyond the spread")
      ->type_name("PERCENT")
      ->check(CLI::NonNegativeNumber);
  add_json(app, json);
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("diff", limits);
  const sandbox::Access access{.read = {first, second}};
  if (const int code = enter_sandbox("diff", no_sandbox, access); code >= 0) return code;
  if (looks_like_result(first) && looks_like_result(second))
    return diff_results(first, second, json, slower_by);
  if (slower_by) {
    return console::usage_error("--fail-if-slower compares two results of gfxgraph-replay --bench",
                                "see gfxgraph diff --help");
  }

  std::vector<std::shared_ptr<const format::Trace>> traces;
  bool whole = true;
  const std::unique_ptr<ProgressLine> progress = make_progress();
  for (const std::string& path : {first, second}) {
    progress->at("reading " + path);
    Result<std::shared_ptr<const format::Trace>> opened =
        format::Trace::open(path, {.allow_torn = true});
    progress->clear();
    if (!opened) return report(opened.error());
    describe(path, **opened);
    whole = whole && (*opened)->sealed() && (*opened)->complete();
    traces.push_back(*std::move(opened));
  }
  progress->at("comparing the traces");
  const Result<TraceDiff> diff = diff_traces(*traces[0], *traces[1]);
  progress->clear();
  if (!diff) return report(diff.error());
  json ? print_json(*diff) : print_text(*diff);
  if (!diff->same()) return kExitFailed;
  return whole ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
