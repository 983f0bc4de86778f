#include "recorder/tool/outcome.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <thread>

#include "base/amount.h"
#include "base/cli/console.h"
#include "base/demangle.h"
#include "base/file/file.h"
#include "format/read/reader.h"
#include "format/read/recover.h"
#include "recorder/contract/segment_files.h"
#include "recorder/tool/closing.h"
#include "recorder/tool/lint_summary.h"

namespace gfxgraph::recorder {
namespace {

namespace fs = std::filesystem;

void list(const char* title, const std::vector<std::string>& lines,
          void (*print_line)(const std::string&)) {
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    print_line(fmt::format("{}: {}", title, lines[i]));
  if (lines.size() > kMost) print_line(fmt::format("{}: {} more", title, lines.size() - kMost));
}

// One line for each kernel.
std::vector<std::string> ambiguous_lines(const Report& report) {
  constexpr size_t kMostName = 80;
  constexpr size_t kMostArguments = 4;
  std::vector<std::string> lines;
  for (const AmbiguousKernel& kernel : report.ambiguous_kernels) {
    const size_t count = kernel.arguments.size();
    const std::span<const std::string> first(kernel.arguments.data(),
                                             std::min(count, kMostArguments));
    lines.push_back(fmt::format(
        "kernel {}: {}{}", short_function_name(demangle(kernel.name), kMostName),
        fmt::join(first, ", "),
        count > kMostArguments ? fmt::format(" and {} more", count - kMostArguments) : ""));
  }
  lines.insert(lines.end(), report.ambiguous.begin(), report.ambiguous.end());
  return lines;
}

// A trace that is sealed but has not got its name: a program that gave up its rights or changed its
// root may not rename files here, and one without free descriptors cannot report. Whether there is
// one now.
bool name_sealed_trace(const std::string& output) {
  const std::string partial = output + ".partial";
  if (partial_in_use(partial)) return false;
  return format::ends_as_sealed(partial).has_value() && rename_file(partial, output).has_value();
}

// Whether everything that happened is in the trace.
bool explain(const Report& report, const std::string& output) {
  std::error_code error;
  tell(fmt::format("{}: {}", output, format_bytes(fs::file_size(output, error))));
  tell(fmt::format("{} of {}, {}, {}, {}, {}", counted(report.launches, "launch"),
                   counted(report.kernels, "kernel"),
                   counted(report.graph_launches, "graph launch"), counted(report.copies, "copy"),
                   counted(report.allocations, "allocation"), counted(report.events, "event")));
  tell(fmt::format("pointers: {} typed, {} matched, {} of them ambiguous", report.relocations_typed,
                   report.relocations_matched, report.relocations_ambiguous));
  progress().at("checking graph readiness: " + output);
  for (const std::string& line : lint_summary(output)) tell(line);
  list("ambiguous", ambiguous_lines(report), tell);
  list("note", report.notes, tell);
  list("incomplete", report.incomplete, say);
  // A selection that nothing matched: there is nothing to replay.
  if (!report.incomplete.empty() && report.launches + report.graph_launches + report.copies == 0 &&
      std::ranges::all_of(report.incomplete,
                          [](const std::string& line) { return line.starts_with("--"); })) {
    tell(
        "nothing was recorded; next: record all of it, and list what can be selected: gfxgraph "
        "info "
        "TRACE --ranges --kernels");
    return false;
  }
  if (!report.incomplete.empty()) {
    tell("the trace is incomplete; replay needs --allow-incomplete");
  }
  tell(fmt::format("next: gfxgraph-replay {}{}", output,
                   report.incomplete.empty() ? "" : " --allow-incomplete"));
  return report.incomplete.empty();
}

// As the recorder would have told it; what only the recorder counts stays 0.
Report report_of(const format::RecoverReport& closed) {
  Report report;
  const format::Statistics& statistics = closed.statistics;
  report.sealed = true;
  report.launches = statistics.launches;
  report.kernels = statistics.kernels;
  report.events = statistics.events;
  report.copies = statistics.copies;
  report.allocations = statistics.allocations;
  report.relocations_typed = statistics.relocations_typed;
  report.relocations_matched = statistics.relocations_matched;
  report.relocations_ambiguous = statistics.relocations_ambiguous;
  for (const format::Finding& finding : closed.findings) {
    const bool incomplete = finding.kind == format::FindingKind::kIncomplete;
    (incomplete ? report.incomplete : report.notes)
        .push_back(format::is_cut(finding)
                       ? "cut off: " + finding.detail
                       : fmt::format("{}{}{} ({})", finding.call,
                                     finding.detail.empty() ? "" : ": ", finding.detail,
                                     counted(finding.count, "time")));
  }
  return report;
}

std::string reason_of(const std::optional<Report>& report, const ClaimRecord& claim,
                      const Ended& ended) {
  if (report && !report->error.empty()) return "recording stopped: " + report->error;
  return reason_of(claim, ended);
}

// Empty: nothing that would help.
std::string remedy(const std::string& reason) {
  for (const int full : {ENOSPC, EDQUOT, EFBIG}) {
    if (reason.find(errno_message(full)) == std::string::npos) continue;
    return "next: make room for the trace, write it elsewhere (-o), or record less of the program "
           "(--range, --launches, --flight-recorder)";
  }
  return "";
}

Ending explain_unsealed(const ClaimRecord& claim, const std::string& reason, bool replace) {
  if (const std::string text = remedy(reason); !text.empty()) say(text);
  progress().at("closing " + claim.output);
  const Result<format::RecoverReport> closed = close_trace(claim, reason, replace);
  progress().clear();
  if (closed) {
    tell(fmt::format("the earlier recording is closed as {}", claim.output));
    (void)explain(report_of(*closed), claim.output);
    return Ending::kLost;
  }
  const std::string partial = claim.output + ".partial";
  std::error_code missing;
  if (fs::exists(partial, missing)) {
    say(fmt::format("the earlier recording is in {} ({}), which cannot be closed: {}", partial,
                    format_bytes(fs::file_size(partial, missing)), closed.error().message));
    tell(fmt::format("next: gfxgraph recover {} -o NEW.gfxg", partial));
  }
  return Ending::kLost;
}

// Unrecorded processes that the trace does not name, because they began after it was sealed.
std::vector<std::string> unnamed_processes(const std::optional<Report>& report,
                                           const std::string& status_folder,
                                           const std::string& key) {
  std::vector<std::string> processes = unrecorded_processes(status_folder, key);
  std::erase_if(processes, [&](const std::string& process) {
    return report && std::ranges::any_of(report->incomplete, [&](const std::string& text) {
             return text.starts_with(process);
           });
  });
  return processes;
}

bool still_recording(const ClaimRecord& claim) {
  return !claim.output.empty() && partial_in_use(claim.output + ".partial") && lives(claim.pid);
}

// The recorder in the process did not seal it.
void settle_unsealed(const ClaimRecord& claim, const std::string& reason, bool replace,
                     ManifestEntry& entry) {
  entry.error = reason;
  progress().at("closing " + claim.output);
  const Result<format::RecoverReport> closed = close_trace(claim, reason, replace);
  progress().clear();
  if (closed) {
    Report report = report_of(*closed);
    entry.state = TraceState::kSealed;
    entry.launches = report.launches;
    entry.incomplete = std::move(report.incomplete);
    entry.notes = std::move(report.notes);
    return;
  }
  std::error_code missing;
  if (!fs::exists(claim.output + ".partial", missing)) return;
  entry.state = TraceState::kPartial;
  entry.file += ".partial";
  entry.error += fmt::format("; the trace cannot be closed: {}", closed.error().message);
}

ManifestEntry settle(const ClaimRecord& claim, const std::string& status_folder, const Ended& ended,
                     bool replace) {
  ManifestEntry entry;
  entry.pid = claim.pid;
  entry.parent_pid = claim.parent_pid;
  entry.rank = claim.rank;
  entry.command_line = claim.command_line;
  if (claim.output.empty()) {
    entry.error = "the process could not report what it records; is the disk full?";
    return entry;
  }
  entry.file = fs::path(claim.output).filename().string();
  for (const std::string& path : read_segment_list(segment_list(status_folder, claim.key))) {
    entry.earlier.push_back(fs::path(path).filename().string());
  }
  if (still_recording(claim)) {
    entry.state = TraceState::kRecording;
    return entry;
  }
  const std::optional<Report> report = read_report(status_folder, claim.key);
  if (report) {
    entry.launches = report->launches;
    entry.incomplete = report->incomplete;
    entry.notes = report->notes;
    entry.error = report->error;
  }
  if (report && report->sealed) {
    const Result<void> sealed = format::ends_as_sealed(claim.output);
    entry.state = sealed ? TraceState::kSealed : TraceState::kFailed;
    if (!sealed) entry.error = sealed.error().message;
  } else if (name_sealed_trace(claim.output)) {
    entry.state = TraceState::kSealed;
  } else {
    settle_unsealed(claim, reason_of(report, claim, ended), replace, entry);
  }
  if (entry.state == TraceState::kFailed) entry.file.clear();
  for (const std::string& process : unnamed_processes(report, status_folder, claim.key)) {
    if (!entry.error.empty()) entry.error += "; ";
    entry.error += fmt::format("{}, is not named in the trace", process);
  }
  entry.complete =
      entry.state == TraceState::kSealed && entry.incomplete.empty() && entry.error.empty();
  return entry;
}

std::string process_text(const ManifestEntry& entry) {
  const std::string rank = entry.rank ? fmt::format(", rank {}", *entry.rank) : "";
  return fmt::format("process {}{}", entry.pid, rank);
}

}  // namespace

void say(const std::string& text) {
  progress().clear();
  console::error(text);
}

void tell(const std::string& text) {
  progress().clear();
  console::message(text);
}

ProgressLine& progress() {
  static ProgressLine line(!console::options().quiet && ProgressLine::on_terminal());
  return line;
}

namespace {

// Lists the earlier traces of a flight recorder.
void explain_segments(const std::string& output, const std::string& status_folder) {
  const std::vector<std::string> earlier = read_segment_list(segment_list(status_folder, ""));
  if (earlier.empty()) return;
  tell(fmt::format(
      "{} before {}:", earlier.size() == 1 ? "one trace" : fmt::format("{} traces", earlier.size()),
      output));
  std::error_code error;
  constexpr size_t kMost = 20;
  for (size_t i = earlier.size() - std::min(earlier.size(), kMost); i < earlier.size(); ++i) {
    tell(fmt::format("  {}: {}", earlier[i], format_bytes(fs::file_size(earlier[i], error))));
  }
}

// The claim of a recording with one trace; empty if the recording process could not write it.
ClaimRecord only_claim(const std::string& output, const std::string& status_folder) {
  const std::vector<ClaimRecord> claims = read_claims(status_folder);
  ClaimRecord claim = claims.empty() ? ClaimRecord() : claims.front();
  claim.output = output;
  return claim;
}

Ending explain_last(const std::string& output, const std::string& status_folder, const Ended& ended,
                    bool replace) {
  const std::optional<Report> report = read_report(status_folder, "");
  if (report && report->sealed) {
    if (Result<void> sealed = format::ends_as_sealed(output); !sealed) {
      say(fmt::format("the trace is lost: {}", sealed.error().message));
      return Ending::kLost;
    }
  } else if (!name_sealed_trace(output)) {
    const ClaimRecord claim = only_claim(output, status_folder);
    if (!still_recording(claim)) {
      const std::string reason = reason_of(report, claim, ended);
      const bool said = ended.signal != 0 && reason == reason_of(std::nullopt, claim, ended);
      if (!said) say(reason);
      return explain_unsealed(claim, reason, replace);
    }
    say(fmt::format(
        "{}.partial: another process that the program started is still recording; the trace gets "
        "its name when that process ends",
        output));
    return Ending::kLost;
  }
  bool complete = true;
  if (report) {
    complete = explain(*report, output);
  } else {
    say(fmt::format("{}: sealed, but the recorder could not report what it holds", output));
  }
  bool lost = false;
  for (const std::string& process : unnamed_processes(report, status_folder, "")) {
    say(fmt::format("not recorded, and not named in the trace: {}{}", process,
                    process.ends_with(kBehindTheEnd)
                        ? "; give it to the device before main() returns"
                        : "; record each process by itself"));
    lost = true;
  }
  if (lost) return Ending::kLost;
  return complete ? Ending::kComplete : Ending::kIncomplete;
}

}  // namespace

Ending explain_recording(const std::string& output, const std::string& status_folder,
                         const Ended& ended, bool replace) {
  const Ending ending = explain_last(output, status_folder, ended, replace);
  explain_segments(output, status_folder);
  return ending;
}

std::vector<ManifestEntry> settle_recordings(const std::string& status_folder, const Ended& ended,
                                             bool replace) {
  std::vector<ManifestEntry> entries;
  ManifestEntry* last_image = nullptr;
  const std::vector<ClaimRecord> claims = read_claims(status_folder);
  entries.reserve(claims.size());
  for (const ClaimRecord& claim : claims) {
    entries.push_back(settle(claim, status_folder, ended, replace));
    if (claim.pid == ended.pid) last_image = &entries.back();
  }
  if (last_image != nullptr) last_image->exit_status = ended.code;
  return entries;
}

Ending explain_recordings(const std::vector<ManifestEntry>& entries,
                          const std::string& status_folder) {
  constexpr size_t kMostSound = 20;
  size_t sound = 0;
  bool lost = false;
  bool complete = true;
  for (const ManifestEntry& entry : entries) {
    complete = complete && entry.complete;
    if (entry.complete && ++sound > kMostSound) continue;
    const std::string process = process_text(entry);
    const std::string launches = entry.launches ? ", " + counted(*entry.launches, "launch") : "";
    switch (entry.state) {
      case TraceState::kSealed:
        tell(fmt::format("{}: {}{}", process, entry.file, launches));
        if (!entry.error.empty()) say(fmt::format("{}: lost: {}", process, entry.error));
        break;
      case TraceState::kPartial:
        say(fmt::format("{}: {}: {}; next: gfxgraph recover", process, entry.file, entry.error));
        break;
      case TraceState::kRecording:
        say(fmt::format("{}: {}: still recording; the trace gets its name when the process ends",
                        process, entry.file));
        break;
      case TraceState::kFailed: say(fmt::format("{}: no trace: {}", process, entry.error)); break;
    }
    for (const std::string& file : entry.earlier) tell("  before it: " + file);
    list("  note", entry.notes, tell);
    list("  incomplete", entry.incomplete, say);
    lost = lost || entry.state != TraceState::kSealed || !entry.error.empty();
  }
  if (sound > kMostSound) tell(fmt::format("{} more sealed traces", sound - kMostSound));
  // A report without a key: a process that found no free name.
  if (const std::optional<Report> report = read_report(status_folder, "")) {
    say(fmt::format("a process was not recorded: {}", report->error));
    lost = true;
  }
  if (lost) return Ending::kLost;
  return complete ? Ending::kComplete : Ending::kIncomplete;
}

void wait_for_recordings(const std::string& status_folder, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  progress().at("waiting for other processes to seal their traces");
  while (std::ranges::any_of(read_claims(status_folder), still_recording) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  progress().clear();
}

}  // namespace gfxgraph::recorder
