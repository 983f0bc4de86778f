#include "recorder/tool/lint_summary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/process/own_process.h"

namespace gfxgraph::recorder {
namespace {

namespace fs = std::filesystem;

// Reading needs memory for all events: about 400 MB for a million launches.
constexpr uint64_t kMostTraceBytes = UINT64_C(256) << 20;
constexpr const char* kMostMemory = "256MiB";
constexpr const char* kMostSeconds = "5";

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

// Returns the exit code, with the printed text in `out`. -1: it could not be started, or was
// killed.
int run(const std::string& tool, const std::string& trace, std::string& out) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* const arguments[] = {tool.c_str(),     "info",          trace.c_str(),
                                   "--lint-summary", "--max-seconds", kMostSeconds,
                                   "--max-memory",   kMostMemory,     nullptr};
  pid_t child = 0;
  const int started = ::posix_spawn(&child, tool.c_str(), &actions, nullptr,
                                    const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (started == 0) out = read_all(ends[0]);
  ::close(ends[0]);
  if (started != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::vector<std::string> lint_summary(const std::string& trace) {
  std::error_code error;
  const std::string tool = (own_program().parent_path() / "gfxgraph").string();
  if (::access(tool.c_str(), X_OK) != 0) return {};
  const uint64_t bytes = fs::file_size(trace, error);
  if (error) return {};
  std::string text;
  const bool small = bytes <= kMostTraceBytes;
  const int code = small ? run(tool, trace, text) : 0;
  if (code < 0 || (small && code == 0 && text.empty())) return {};
  // Too large for the limits.
  if (text.empty()) return {fmt::format("graph readiness: gfxgraph info {} --lint", trace)};
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(std::move(line));
  lines.push_back(fmt::format("full list: gfxgraph info {} --lint", trace));
  return lines;
}

}  // namespace gfxgraph::recorder
