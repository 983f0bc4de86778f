#include "tools/doctor/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/cli/console.h"
#include "base/file/file.h"
#include "base/process/own_process.h"

namespace gfxgraph::tools::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 16384;
constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr auto kMostForSigkill = std::chrono::seconds(5);
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> signal_that_came{0};

void note_signal(int signal) { signal_that_came = signal; }

// While a child runs, signals that end this process end the child first.
class NotedSignals {
 public:
  NotedSignals() {
    for (size_t i = 0; i < before_.size(); ++i) {
      struct sigaction action{};
      action.sa_handler = note_signal;
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~NotedSignals() { restore(); }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;
  void restore() const {
    for (size_t i = 0; i < before_.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  std::array<struct sigaction, std::size(kSignals)> before_{};
};

// The reading end of a child's stdout or stderr.
class Output {
 public:
  static Result<Output> make() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("make", "a pipe", errno);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return Output(File::own(ends[0], "pipe"), File::own(ends[1], "pipe"));
  }

  [[nodiscard]] int reading() const { return read_.fd(); }
  [[nodiscard]] int writing() const { return write_.fd(); }
  void started() { write_.close(); }
  // What is there now; false: nobody will write any more.
  bool take() {
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t got = ::read(read_.fd(), bytes.data(), bytes.size());
      if (got > 0) {
        text_.append(bytes.data(), static_cast<size_t>(got));
        if (text_.size() > 2 * kMostOutput) text_.erase(0, text_.size() - kMostOutput);
      } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        return false;
      } else if (errno == EAGAIN) {
        return true;
      }
    }
  }
  std::string last() {
    if (text_.size() > kMostOutput) text_.erase(0, text_.size() - kMostOutput);
    return std::move(text_);
  }

 private:
  Output(File read, File write) : read_(std::move(read)), write_(std::move(write)) {}
  File read_, write_;
  std::string text_;
};

struct Words {
  explicit Words(const std::vector<std::string>& words) : text(words) {
    for (std::string& word : text) pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> text;
  std::vector<char*> pointers;
};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

// Between fork() and exec().
[[noreturn]] void become(const Words& command, const Words& environment, int out, int err,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const bool ready = ::getppid() == parent && nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 &&
                     ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0;
  if (ready) ::execve(command.pointers[0], command.pointers.data(), environment.pointers.data());
  ::_exit(127);
}

// Whether the child has ended; then its status is in `end`, and its group is gone. Until it is
// reaped, no other group can have its number.
bool reap(pid_t child, ChildEnd& end) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno != EINTR;
  if (info.si_pid != child) return false;
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return true;
}

void wait_for_output(Output& out, Output& err) {
  std::array<pollfd, 2> ready = {pollfd{out.reading(), POLLIN, 0},
                                 pollfd{err.reading(), POLLIN, 0}};
  const auto milliseconds = static_cast<int>(kLookEvery.count());
  ::poll(ready.data(), ready.size(), milliseconds);
  const bool more = out.take();
  if (!err.take() && !more) ::poll(nullptr, 0, milliseconds);  // both closed: that is no event
}

std::string signal_text(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  if (name == nullptr) return fmt::format("killed by signal {}", signal);
  return fmt::format("killed by SIG{} ({})", name, ::sigdescr_np(signal));
}

std::string last_line_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

std::string ChildEnd::how() const {
  constexpr int kSignalCodes = 128;
  if (stuck) {
    return fmt::format(
        "no end after {:g} s, and SIGKILL does not end it: the driver waits for the "
        "device",
        seconds);
  }
  if (late) return fmt::format("no end after {:g} s", seconds);
  if (signal != 0) return signal_text(signal);
  if (code > kSignalCodes && code < kSignalCodes + SIGRTMIN)
    return signal_text(code - kSignalCodes);
  return fmt::format("exit code {}", code);
}

std::string ChildEnd::last_line() const {
  std::string line = last_line_of(err);
  if (line.empty()) line = last_line_of(out);
  for (const std::string_view name : {"gfxgraph: ", "gfxgraph-record: ", "gfxgraph-replay: "})
    if (line.starts_with(name)) line.erase(0, name.size());
  return line;
}

std::string ChildEnd::reason() const {
  const std::string line = last_line();
  return line.empty() || late ? how() : fmt::format("{}: {}", how(), line);
}

Result<ChildEnd> run_child(const Child& child) {
  const Words command(child.command);
  const Words environment(environment_with(child.environment));
  GFXGRAPH_ASSIGN_OR_RETURN(Output out, Output::make());
  GFXGRAPH_ASSIGN_OR_RETURN(Output err, Output::make());
  console::detail(fmt::format("starting {}", fmt::join(child.command, " ")));
  const NotedSignals signals;
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return fail_errno("start", child.command.front(), errno);
  if (process == 0) {
    signals.restore();
    become(command, environment, out.writing(), err.writing(), parent);
  }
  ::setpgid(process, process);  // whoever comes first
  out.started();
  err.started();

  ChildEnd end;
  end.seconds = child.seconds;
  Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(child.seconds));
  bool killed = false;
  while (!reap(process, end)) {
    wait_for_output(out, err);
    if (killed && Clock::now() > deadline) {
      end.stuck = true;
      break;
    }
    if (!killed && (Clock::now() > deadline || interrupted())) {
      end.late = !interrupted();
      killed = true;
      ::kill(-process, SIGKILL);
      deadline = Clock::now() + kMostForSigkill;
    }
  }
  out.take();
  err.take();
  end.out = out.last();
  end.err = err.last();
  return end;
}

bool interrupted() noexcept { return signal_that_came != 0; }

std::vector<std::string> own_command(const std::string& program,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> command = own_loader();
  command.push_back((own_program().parent_path() / program).string());
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace gfxgraph::tools::doctor
