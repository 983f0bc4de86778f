#include "replayer/tool/prove_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/cli/exit_code.h"
#include "base/file/file.h"
#include "base/process/own_process.h"

namespace gfxgraph::replayer {
namespace {

// Returns its exit code; 128 and more: a signal ended it.
Result<int> run(std::vector<std::string> command, int output) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno("start", command.front(), error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<std::shared_ptr<const order::NeededEdges>> prove_order(const std::string& trace,
                                                              bool parameters, double max_seconds) {
  GFXGRAPH_ASSIGN_OR_RETURN(const File output, File::in_memory());
  std::vector<std::string> command = own_loader();
  command.push_back((own_program().parent_path() / "gfxgraph").string());
  for (const char* const word : {"info", "--order", "-o", "-", "--quiet"}) command.push_back(word);
  if (parameters) command.push_back("--parameters");
  command.push_back("--max-seconds");
  command.push_back(fmt::format("{}", max_seconds));
  command.push_back("--");
  command.push_back(trace);
  GFXGRAPH_ASSIGN_OR_RETURN(const int code, run(std::move(command), output.fd()));
  // A trace that lacks something is refused, or was accepted, elsewhere.
  if (code != kExitOk && code != kExitDataLost) {
    return fail(Status::kUnsupported,
                fmt::format("--order proven: gfxgraph info --order, which proves it, ended with "
                            "exit code {}; its message stands above",
                            code));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t size, output.size());
  std::vector<std::byte> bytes(size);
  GFXGRAPH_TRY(output.read_at(0, bytes));
  GFXGRAPH_ASSIGN_OR_RETURN(order::NeededEdges edges, order::read_needed_edges(bytes));
  return std::make_shared<const order::NeededEdges>(std::move(edges));
}

}  // namespace gfxgraph::replayer
