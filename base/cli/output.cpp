#include "base/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/cli/exit_code.h"
#include "base/file/file.h"

namespace gfxgraph {

void reserve_standard_descriptors() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. The reversed access mode makes reads and writes fail.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode | O_CLOEXEC) < 0) return;
  }
}

int finish_output(const char* program, int code) noexcept {
  try {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    const int error = errno;
    // A network file system may report that it is full only on close. This closes a copy: static
    // destructors may still use stdout itself.
    const int copy = flushed ? ::dup(STDOUT_FILENO) : -1;
    const bool closed = copy < 0 || ::close(copy) == 0;
    if (flushed && closed && std::ferror(stdout) == 0) return code;
    const std::string reason = error != 0 ? ": " + errno_message(error) : "";
    fmt::print(stderr, "{}: stdout: the output was not written completely{}\n", program, reason);
  } catch (...) {
    // Out of memory for the message, or stderr fails as well: only the exit code reports it.
  }
  return code == kExitOk ? kExitFailed : code;
}

Result<void> check_output_path(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return fail(Status::kInvalidArgument,
              fmt::format("{}: not a regular file, will not be written or replaced; name another "
                          "output",
                          path.string()));
}

}  // namespace gfxgraph
