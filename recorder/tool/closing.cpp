#include "recorder/tool/closing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace gfxgraph::recorder {
namespace {

// The system releases a dead process's lock last, shortly after its death.
constexpr std::chrono::milliseconds kTakingDown{5'000};

void await_lock(const std::string& partial) {
  const auto end = std::chrono::steady_clock::now() + kTakingDown;
  while (partial_in_use(partial) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

std::string signal_text(int signal) {
  return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
}

bool partial_in_use(const std::string& partial) {
  const int file = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return !free;
}

bool lives(pid_t pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

std::string reason_of(const ClaimRecord& claim, const Ended& ended) {
  if (claim.pid != ended.pid) {
    return fmt::format(
        "process {} ended without telling the recorder, as one does that is killed by signal 9",
        claim.pid);
  }
  if (ended.signal != 0) return "the program was " + signal_text(ended.signal);
  return "the program ended without telling the recorder";
}

Result<format::RecoverReport> close_trace(const ClaimRecord& claim, const std::string& reason,
                                          bool replace) {
  const std::string partial = claim.output + ".partial";
  std::error_code error;
  if (!std::filesystem::exists(partial, error)) {
    return fail(Status::kNotFound, fmt::format("{}: nothing was written", partial));
  }
  if (!replace && std::filesystem::exists(claim.output, error)) {
    return fail(Status::kIo, fmt::format("{} exists by now", claim.output));
  }
  if (!lives(claim.pid)) await_lock(partial);
  return format::close_recording(partial, claim.output, {reason, claim.start_unix_ns});
}

}  // namespace gfxgraph::recorder
