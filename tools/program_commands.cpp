// gfxgraph record and gfxgraph replay: the programs of those names, which stand beside this one.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process/own_process.h"
#include "tools/cli.h"
#include "tools/commands.h"

namespace gfxgraph::tools {
namespace {

// Returns only when it cannot be started.
int become(const char* name, int argc, char** argv) {
  const std::filesystem::path path = own_program().parent_path() / name;
  // Through the loader that started this program, if one did: it gives the same libraries.
  std::vector<std::string> command = own_loader();
  const std::string file = command.empty() ? path.string() : command.front();
  command.push_back(path.string());
  command.insert(command.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(file.c_str(), arguments.data());
  return report({Status::kNotFound,
                 fmt::format("{} cannot be started: {}", path.string(), std::strerror(errno))});
}

}  // namespace

int record_command(int argc, char** argv) { return become("gfxgraph-record", argc, argv); }
int replay_command(int argc, char** argv) { return become("gfxgraph-replay", argc, argv); }

}  // namespace gfxgraph::tools
