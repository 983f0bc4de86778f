#include "base/process/own_process.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;

struct CommandLine {
  std::vector<std::string> loader;
  std::vector<std::string> program;
};

std::vector<std::string> all_arguments() {
  std::ifstream file("/proc/thread-self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

CommandLine split_command_line() {
  CommandLine result;
  result.program = all_arguments();
  std::error_code error;
  const fs::path started = fs::read_symlink("/proc/thread-self/exe", error);
  const fs::path program = own_program();
  if (error || program.empty() || fs::equivalent(started, program, error) || error) return result;
  for (size_t i = 1; i < result.program.size(); ++i) {
    if (!fs::equivalent(result.program[i], program, error) || error) continue;
    const auto first = result.program.begin();
    const auto own = std::next(first, static_cast<std::ptrdiff_t>(i));
    result.loader.assign(std::make_move_iterator(first), std::make_move_iterator(own));
    result.loader.front() = started.string();
    result.program.erase(first, own);
    break;
  }
  return result;
}

}  // namespace

fs::path file_mapped_at(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/thread-self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "7f00-7f10 r-xp 00000000 fd:01 123    /path with spaces".
    uintptr_t begin = 0;
    uintptr_t end = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx %*s %*s %*s %*s %n", &begin, &end, &path) == 2 &&
        wanted >= begin && wanted < end && path > 0) {
      return line.substr(static_cast<size_t>(path));
    }
  }
  return {};
}

fs::path own_program() {
  // If the program was started through its dynamic loader, the kernel's values describe the loader;
  // the loader corrects them.
  const auto headers = static_cast<uintptr_t>(::getauxval(AT_PHDR));
  const fs::path program = file_mapped_at(reinterpret_cast<const void*>(headers));
  if (!program.empty()) return program;
  std::error_code error;
  return fs::read_symlink("/proc/thread-self/exe", error);
}

std::vector<std::string> own_command_line() { return split_command_line().program; }

std::vector<std::string> own_loader() { return split_command_line().loader; }

std::vector<std::string> loader_with_folder(std::vector<std::string> loader,
                                            std::string_view folder) {
  for (size_t i = 0; i + 1 < loader.size(); ++i) {
    if (loader[i] != "--library-path") continue;
    if (!folder.empty()) loader[i + 1] = std::string(folder) + ":" + loader[i + 1];
    break;
  }
  return loader;
}

}  // namespace gfxgraph
