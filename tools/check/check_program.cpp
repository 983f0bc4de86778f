// gfxgraph run --check: records the program into a folder that is gone afterwards, and checks that.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cli/print.h"
#include "base/process/own_process.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/temporary_folder.h"

namespace gfxgraph::tools {
namespace {

namespace fs = std::filesystem;

// Ctrl-C ends the program; what it did until then is checked.
class IgnoredInterrupt {
 public:
  IgnoredInterrupt() : before_(std::signal(SIGINT, SIG_IGN)) {}
  ~IgnoredInterrupt() { std::signal(SIGINT, before_); }
  IgnoredInterrupt(const IgnoredInterrupt&) = delete;
  IgnoredInterrupt& operator=(const IgnoredInterrupt&) = delete;
  void (*before() const)(int) { return before_; }

 private:
  void (*before_)(int);
};

// Starts it and waits for its end; the exit code as shells say it.
Result<int> run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const IgnoredInterrupt ignored;
  const pid_t child = ::fork();
  if (child < 0) return fail(Status::kIo, fmt::format("no new process: {}", std::strerror(errno)));
  if (child == 0) {
    std::signal(SIGINT, ignored.before());
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      return fail(Status::kIo, fmt::format("waiting for the program: {}", std::strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int check_program(const std::string& device, bool capture, const std::vector<std::string>& options,
                  const std::vector<char*>& program) {
  const TemporaryFolder folder("gfxgraph-check");
  if (folder.path().empty()) return report({Status::kIo, "no folder for temporary files"});
  const fs::path trace = folder.path() / (fs::path(program.front()).filename().string() + ".gfxg");
  std::vector<std::string> words = {"gfxgraph check", trace.string()};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());

  int program_code = 0;
  const auto record = [&]() -> int {
    std::vector<std::string> command = own_loader();
    command.push_back((own_program().parent_path() / "gfxgraph-record").string());
    // Its summary is about a trace that nobody will find.
    const char* const amount = console::options().verbose ? "--verbose" : "--quiet";
    for (const char* word : {amount, "--color", console::options().color.c_str(), "--device",
                             device.c_str(), "-o", trace.c_str(), "--"})
      command.emplace_back(word);
    if (capture) command.insert(command.end() - 1, "--capture");
    command.insert(command.end(), program.begin(), program.end());
    const Result<int> ran = run(std::move(command));
    if (!ran) return report(ran.error());
    program_code = *ran;
    std::error_code ignored;
    if (fs::exists(trace, ignored)) return -1;
    console::error("the program left no trace: nothing was checked");
    return program_code != 0 ? program_code : kExitFailed;
  };
  const int code = check_recorded(static_cast<int>(arguments.size()), arguments.data(),
                                  {program.front(), record});
  return code == kExitOk ? program_code : code;
}

}  // namespace gfxgraph::tools
