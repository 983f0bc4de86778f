#include "tools/read_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/cli/exit_code.h"
#include "base/file/file.h"

namespace gfxgraph::tools {
namespace {

// A signal handler may neither format nor lock: the line is ready before the clock starts.
char time_is_over[256];

void end_process(int) {
  const ssize_t ignored = ::write(STDERR_FILENO, time_is_over, std::strlen(time_is_over));
  ::_exit(ignored < 0 ? kExitFailed : kExitDataLost);
}

void limit_memory(uint64_t bytes) {
  rlimit limit{};
  if (!kLimitsMemory || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, bytes);
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

void add_time_limit(CLI::App& app, ReadLimits& limits) {
  app.add_option("--max-seconds", limits.seconds, "stop after this time; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
}

void add_read_limits(CLI::App& app, ReadLimits& limits) {
  add_time_limit(app, limits);
  app.add_option("--max-memory", limits.memory_bytes,
                 "fail if the command needs more: bytes, or a number with KiB, MiB or GiB "
                 "(default: half of this machine's memory)")
      ->transform(CLI::AsSizeValue(false));
}

void add_instruction_limit(CLI::App& app, ReadLimits& limits) {
  app.add_option("--max-instructions", limits.instructions,
                 "stop after this many wave instructions in all launches together; 0: no limit")
      ->capture_default_str();
}

void enforce_time(const char* command, double seconds) {
  if (!(seconds > 0)) return;
  const auto end = fmt::format_to_n(
      time_is_over, sizeof(time_is_over) - 1,
      "gfxgraph {}: the time limit of {} seconds is reached (--max-seconds): stopped\n", command,
      seconds);
  *end.out = '\0';
  struct sigaction action{};
  action.sa_handler = end_process;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);  // whoever started this may have blocked it
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = std::max<suseconds_t>(
      static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6), 1);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void enforce(const char* command, const ReadLimits& limits) {
  limit_memory(limits.memory_bytes != 0 ? limits.memory_bytes : physical_memory_bytes() / 2);
  enforce_time(command, limits.seconds);
}

}  // namespace gfxgraph::tools
