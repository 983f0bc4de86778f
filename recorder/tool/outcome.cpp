#include "recorder/tool/outcome.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/print.h"
#include "format/reader.h"
#include "recorder/tool/lint_summary.h"
#include "recorder/tool/segment_files.h"

namespace gfxgraph::recorder {
namespace {

namespace fs = std::filesystem;

std::string size_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void list(const char* title, const std::vector<std::string>& lines) {
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    say(fmt::format("{}: {}", title, lines[i]));
  if (lines.size() > kMost) say(fmt::format("{}: {} more", title, lines.size() - kMost));
}

void explain_unsealed(const std::string& output, const std::string& error) {
  const std::string partial = output + ".partial";
  if (!error.empty()) say(fmt::format("recording stopped: {}", error));
  std::error_code missing;
  if (fs::exists(partial, missing)) {
    say(fmt::format("what was recorded before is in {} ({})", partial,
                    size_text(fs::file_size(partial, missing))));
    say(fmt::format("next: gfxgraph recover {}", partial));
  }
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
  say(fmt::format("{}: {}", output, size_text(fs::file_size(output, error))));
  say(fmt::format(
      "{} launches of {} kernels, {} graph launches, {} copies, {} allocations, {} events",
      report.launches, report.kernels, report.graph_launches, report.copies, report.allocations,
      report.events));
  say(fmt::format("pointers: {} typed, {} matched, {} of them ambiguous", report.relocations_typed,
                  report.relocations_matched, report.relocations_ambiguous));
  for (const std::string& line : lint_summary(output)) say(line);
  list("ambiguous", report.ambiguous);
  list("note", report.notes);
  list("incomplete", report.incomplete);
  if (!report.incomplete.empty()) {
    say("the trace is incomplete: replay refuses it unless told --allow-incomplete");
  }
  say(fmt::format("next: gfxgraph-replay {}", output));
  return report.incomplete.empty();
}

// Those that the trace does not name: they began when it was sealed.
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

bool lives(pid_t pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

bool still_recording(const ClaimRecord& claim) {
  return !claim.output.empty() && partial_in_use(claim.output + ".partial") && lives(claim.pid);
}

ManifestEntry settle(const ClaimRecord& claim, const std::string& status_folder) {
  ManifestEntry entry;
  entry.pid = claim.pid;
  entry.parent_pid = claim.parent_pid;
  entry.rank = claim.rank;
  entry.command_line = claim.command_line;
  if (claim.output.empty()) {
    entry.error = "the process could not say what it records: is the disk full?";
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
    std::error_code missing;
    const bool partial = fs::exists(claim.output + ".partial", missing);
    entry.state = partial ? TraceState::kPartial : TraceState::kFailed;
    if (partial) entry.file += ".partial";
    if (entry.error.empty()) entry.error = "the process ended without telling the recorder";
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

void say(const std::string& text) { print(stderr, "gfxgraph-record: {}\n", text); }

bool partial_in_use(const fs::path& partial) {
  const int file = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return !free;
}

namespace {

// Of a flight recorder.
void explain_segments(const std::string& output, const std::string& status_folder) {
  const std::vector<std::string> earlier = read_segment_list(segment_list(status_folder, ""));
  if (earlier.empty()) return;
  say(fmt::format(
      "{} before {}:", earlier.size() == 1 ? "one trace" : fmt::format("{} traces", earlier.size()),
      output));
  std::error_code error;
  constexpr size_t kMost = 20;
  for (size_t i = earlier.size() - std::min(earlier.size(), kMost); i < earlier.size(); ++i) {
    say(fmt::format("  {}: {}", earlier[i], size_text(fs::file_size(earlier[i], error))));
  }
}

Ending explain_last(const std::string& output, const std::string& status_folder) {
  const std::optional<Report> report = read_report(status_folder, "");
  const std::string stopped =
      report ? report->error : "the program ended without telling the recorder";
  if (report && report->sealed) {
    if (Result<void> sealed = format::ends_as_sealed(output); !sealed) {
      say(fmt::format("the trace is lost: {}", sealed.error().message));
      return Ending::kLost;
    }
  } else if (!name_sealed_trace(output)) {
    if (partial_in_use(output + ".partial")) {
      say(fmt::format(
          "{}.partial: another process that the program started is still recording; the "
          "trace gets its name when that process ends",
          output));
    } else {
      explain_unsealed(output, stopped);
    }
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
    say(fmt::format("not recorded, and not named in the trace: {}; record each process by itself",
                    process));
    lost = true;
  }
  if (lost) return Ending::kLost;
  return complete ? Ending::kComplete : Ending::kIncomplete;
}

}  // namespace

Ending explain_recording(const std::string& output, const std::string& status_folder) {
  const Ending ending = explain_last(output, status_folder);
  explain_segments(output, status_folder);
  return ending;
}

std::vector<ManifestEntry> settle_recordings(const std::string& status_folder, pid_t first_process,
                                             int exit_status) {
  std::vector<ManifestEntry> entries;
  ManifestEntry* last_image = nullptr;
  const std::vector<ClaimRecord> claims = read_claims(status_folder);
  entries.reserve(claims.size());
  for (const ClaimRecord& claim : claims) {
    entries.push_back(settle(claim, status_folder));
    if (claim.pid == first_process) last_image = &entries.back();
  }
  if (last_image != nullptr) last_image->exit_status = exit_status;
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
    const std::string launches =
        entry.launches ? fmt::format(", {} launches", *entry.launches) : "";
    switch (entry.state) {
      case TraceState::kSealed:
        say(fmt::format("{}: {}{}", process, entry.file, launches));
        if (!entry.error.empty()) say("  lost: " + entry.error);
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
    for (const std::string& file : entry.earlier) say("  before it: " + file);
    list("  note", entry.notes);
    list("  incomplete", entry.incomplete);
    lost = lost || entry.state != TraceState::kSealed || !entry.error.empty();
  }
  if (sound > kMostSound) say(fmt::format("{} more sealed traces", sound - kMostSound));
  // Of processes that found no name.
  if (const std::optional<Report> report = read_report(status_folder, "")) {
    say(fmt::format("a process was not recorded: {}", report->error));
    lost = true;
  }
  if (lost) return Ending::kLost;
  return complete ? Ending::kComplete : Ending::kIncomplete;
}

void wait_for_recordings(const std::string& status_folder, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (std::ranges::any_of(read_claims(status_folder), still_recording) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace gfxgraph::recorder
