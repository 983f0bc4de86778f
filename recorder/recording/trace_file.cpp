#include "recorder/recording/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <span>
#include <string>

#include "base/process/own_process.h"
#include "recorder/no_cancel.h"
#include "recorder/recording_error.h"

namespace gfxgraph::recorder {

bool TraceFile::claim() {
  claim_ = check(claim_recording(options_));
  return claim_.mine;
}

format::Environment TraceFile::environment() const {
  format::Environment environment;
  environment.gfxgraph_version = GFXGRAPH_VERSION;
  environment.gpu_arch = facts_.gpu_arch.substr(0, facts_.gpu_arch.find(':'));
  environment.device_name = facts_.device_name;
  environment.emulated = options_.emulated;
  environment.hip_runtime_version = facts_.runtime_version;
  environment.hip_driver_version = facts_.driver_version;
  if (!options_.redact) environment.command_line = own_command_line();
  environment.start_unix_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  return environment;
}

Result<std::unique_ptr<format::Writer>> TraceFile::new_writer() const {
  format::WriterOptions options;
  options.compression_level = options_.compression_level;
  return format::Writer::create(claim_.output, options);
}

void TraceFile::seal() {
  handover_.drain_last();
  contents_.note_lost_bytes();
  check(journal_.findings().write_counts());
  if (guard_.active()) check(journal_.writer().seal());
}

void TraceFile::note_unrecorded_processes() {
  for (const std::string& mark : unrecorded_processes(options_.status_folder, claim_.key)) {
    if (journal_.findings().has(mark)) continue;  // of an earlier segment
    finding(format::FindingKind::kIncomplete, mark,
            "the work of this process, which the program started, is not in the trace");
  }
}

void TraceFile::mark_unrecorded(std::string_view call, bool behind_the_end) noexcept {
  static constinit std::atomic<pid_t> noted{0};
  const pid_t self = getpid();
  if (options_.status_folder.empty() || noted.exchange(self) == self) return;
  const NoCancel own;
  try {
    char program[64] = "";
    (void)pthread_getname_np(pthread_self(), program, sizeof(program));
    const std::string path =
        fmt::format("{}/unrecorded{}.{}", options_.status_folder, claim_.key, self);
    const std::string text = fmt::format("process {} ({}): {}{}", self, program, call,
                                         behind_the_end ? kBehindTheEnd : "");
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return;
    (void)!::write(file, text.data(), text.size());
    ::close(file);
  } catch (...) {
    // No memory for a path: nothing can be done here.
  }
}

void TraceFile::write_report(const Report& report) noexcept {
  if (options_.status_folder.empty()) return;
  const NoCancel own;
  try {
    const std::string text = recorder::write_report(report);
    if (claim_.report.write_all(std::as_bytes(std::span(text)))) return;
    std::ofstream file(options_.status_folder + "/report" + claim_.key,
                       std::ios::binary | std::ios::app);
    if (file << text << std::flush) return;
    if (denied_.exchange(true)) return;
    std::ofstream(options_.denied_file, std::ios::binary | std::ios::app) << fmt::format(
        "process {}: {}; it may not write its trace, or what gfxgraph-record is to be told: did it "
        "change its user or its root before its first HIP call?\n",
        getpid(), report.error.empty() ? options_.status_folder : report.error);
  } catch (...) {
    // The tool then says that the recording ended without a report.
  }
}

}  // namespace gfxgraph::recorder
