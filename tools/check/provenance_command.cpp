// gfxgraph provenance: proves which words of a trace are pointers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/amount.h"
#include "base/cli/print.h"
#include "base/file/new_file.h"
#include "check/provenance/provenance.h"
#include "format/provenance.h"
#include "format/read/reader.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/read_limits.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

std::string_view part_name(format::WordPart part) {
  switch (part) {
    case format::WordPart::kArguments: return "arguments";
    case format::WordPart::kInitial: return "initial content";
    case format::WordPart::kHostWrite: return "host write";
    case format::WordPart::kCopySource: return "copy from the host";
    case format::WordPart::kFinal: return "final content";
    case format::WordPart::kCopyResult: return "copy to the host";
  }
  return "unknown";
}

std::string place_text(const format::WordPlace& place) {
  if (place.graph != 0)
    return fmt::format("graph {} node {}, {}", place.graph, place.node, part_name(place.part));
  return fmt::format("event {}, {}", place.event, part_name(place.part));
}

std::string render_text(const check::ProvenanceReport& report, const std::string& name) {
  std::string text = format_printable(
      "{}: {} like an address: {} proven, {} data, {} never read, {} unclear\n", name,
      counted(report.words, "word"), report.proven, report.data, report.unread, report.unclear);
  if (report.compared != 0)
    text += format_printable("  only compared with pointers: {} of the proven words\n",
                             report.compared);
  for (const auto& [reason, words] : report.reasons)
    text += format_printable("  unclear: {} ({})\n", reason, words);
  for (const auto& example : report.examples)
    text += format_printable("    {}, byte {}, to allocation #{}: {}\n", place_text(example.place),
                             example.offset_bytes, example.allocation, example.reason);
  for (const auto& word : report.list)
    text += format_printable("  {:<10} {:#x} ({}, byte {})\n", word.verdict, word.value,
                             place_text(word.place), word.offset_bytes);
  if (report.rebased != 0)
    text += format_printable("  into another allocation than recorded: {} of the proven words\n",
                             report.rebased);
  if (report.untraced_instructions != 0)
    text += format_printable(
        "  accesses to recorded memory at addresses that come from no recorded word: {}\n",
        counted(report.untraced_instructions, "instruction"));
  if (report.failed_launches != 0)
    text += format_printable("  {} of {} launches failed (first: {})\n", report.failed_launches,
                             report.launches, report.failure);
  if (!report.stopped.empty()) text += format_printable("  stopped: {}\n", report.stopped);
  text += format_printable("  executed: {}, {}\n", counted(report.launches, "launch"),
                           counted(report.wave_instructions, "wave instruction"));
  return text;
}

std::string render_json(const check::ProvenanceReport& report, const std::string& name) {
  nlohmann::ordered_json json;
  json["schema"] = "gfxgraph-provenance/1";
  json["trace"] = name;
  json["words"] = report.words;
  json["proven"] = report.proven;
  json["compared"] = report.compared;
  json["data"] = report.data;
  json["never_read"] = report.unread;
  json["unclear"] = report.unclear;
  json["rebased"] = report.rebased;
  json["settled"] = report.settled();
  json["reasons"] = report.reasons;
  json["examples"] = nlohmann::ordered_json::array();
  for (const auto& example : report.examples)
    json["examples"].push_back({{"place", place_text(example.place)},
                                {"offset_bytes", example.offset_bytes},
                                {"allocation", example.allocation},
                                {"reason", example.reason}});
  if (!report.list.empty()) json["list"] = nlohmann::ordered_json::array();
  for (const auto& word : report.list)
    json["list"].push_back({{"place", place_text(word.place)},
                            {"offset_bytes", word.offset_bytes},
                            {"value", fmt::format("{:#x}", word.value)},
                            {"verdict", word.verdict}});
  json["untraced_instructions"] = report.untraced_instructions;
  json["launches"] = report.launches;
  json["failed_launches"] = report.failed_launches;
  json["failure"] = report.failure;
  json["stopped"] = report.stopped;
  json["wave_instructions"] = report.wave_instructions;
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int provenance_command(int argc, char** argv) {
  CLI::App app(
      "Executes every launch of a trace in the emulator and follows each word that looks like an "
      "address from where it is loaded to where it is used. Proven: it reached the address of an "
      "access, or was compared with a word that did. Data: kernels read it, and no address came "
      "from it. Exit code 1: a launch could not "
      "be run, 2: wrong command line; 3: a budget is spent, or the trace is damaged or "
      "incomplete.\n\n"
      "Example: gfxgraph provenance app.gfxg --write",
      "gfxgraph provenance");
  std::string path;
  std::string output;
  std::string format_name = "text";
  bool write = false, list = false;
  check::BudgetLimits limits;
  app.add_option("TRACE", path, "trace file")->required();
  app.add_flag("--write", write,
               "write what was found into the trace, or a copy of it with -o: gfxgraph-replay "
               "relocates proven words and leaves data alone");
  app.add_option("-o,--output", output, "write a copy of the trace, with --write")
      ->type_name("FILE");
  app.add_flag("--list", list, "list every word");
  app.add_option("--format", format_name, "text or json")->check(CLI::IsMember({"text", "json"}));
  bool json = false;
  app.add_flag("--json", json, "print JSON: the same as --format json")->excludes("--format");
  app.add_option("--max-seconds", limits.seconds, "stop after this time; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-instructions", limits.instructions,
                 "stop after this many wave instructions in all launches together; 0: no limit")
      ->capture_default_str();
  app.add_option("--max-memory", limits.memory_bytes,
                 "stop if live buffers and code need more: bytes, or a number with KiB, MiB "
                 "or GiB (default: half of this machine's memory)")
      ->transform(CLI::AsSizeValue(false));
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  if (json) format_name = "json";
  if (!output.empty() && !write) {
    report(Error{Status::kInvalidArgument, "-o needs --write"});
    return kExitUsage;
  }
  if (write) {
    // Changed in place, a trace stays where it is: a link to it is followed.
    std::error_code error;
    const std::string target =
        output.empty() ? std::filesystem::canonical(path, error).string() : output;
    Result<void> fine;
    if (!output.empty()) fine = check_distinct(std::span(&output, 1), std::span(&path, 1));
    if (fine && !target.empty()) fine = check_new_file(target, FileUse::kTrace);
    if (!fine) return report(fine.error());
    output = target.empty() ? path : target;
  }
  constexpr double kGraceSeconds = 30;
  if (limits.seconds > 0) enforce_time("provenance", limits.seconds + kGraceSeconds);
  sandbox::Access access{.read = {path}, .data_bytes = data_limit(limits.memory_bytes)};
  if (write) access.write.emplace_back(output.empty() ? path : output);
  if (const int code = enter_sandbox("provenance", no_sandbox, access); code >= 0) return code;
  format::ReadOptions read_options;
  read_options.max_decompressed_bytes = limits.memory_bytes;
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("reading " + path);
  const Result<std::shared_ptr<const format::Trace>> trace =
      format::Trace::open(path, read_options);
  progress->clear();
  if (!trace) return report(trace.error());
  describe(path, **trace);
  const Result<check::ProvenanceReport> found =
      check::prove_pointers(**trace, limits, list, count_on(*progress, "executing launch"));
  progress->clear();
  if (!found) return report(Error{found.error().status, path + ": " + found.error().message});
  if (write) {
    progress->at("writing " + output);
    const Result<void> written = format::write_provenance(path, output, found->facts);
    progress->clear();
    if (!written) return report(written.error());
    wrote(output);
  }
  write_text(stdout, format_name == "json" ? render_json(*found, path) : render_text(*found, path));
  if (!found->stopped.empty()) return kExitDataLost;
  if (found->failed_launches != 0) return kExitFailed;
  return (*trace)->complete() ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools
