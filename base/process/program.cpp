#include "base/process/program.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "base/process/own_process.h"

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestPath = 4096;

Result<fs::path> usable(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} is a folder, not a program", path.string()));
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("{} is not executable: chmod +x it, or name its interpreter", path.string()));
  }
  return path;
}

std::string shell_quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Result<fs::path> find_program(const std::string& name) {
  std::error_code error;
  if (name.find('/') != std::string::npos) {
    if (fs::exists(name, error)) return usable(name);
  } else if (!name.empty()) {
    const char* const variable = std::getenv("PATH");
    const std::string path = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find(':', begin), path.size());
      const std::string folder = end == begin ? "." : path.substr(begin, end - begin);
      begin = end + 1;
      const fs::path candidate = fs::path(folder) / name;
      if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) {
        return candidate;
      }
    }
  }
  return fail(Status::kNotFound,
              fmt::format("{}: no such program; give its path, or a name that is in PATH",
                          name.empty() ? "\"\"" : name));
}

ProgramFile inspect_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  ProgramFile program;
  program.elf = true;
  program.x86_64 = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
  if (!program.x86_64 || header.e_phentsize != sizeof(Elf64_Phdr)) return program;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz < 2 || segment.p_filesz > kLongestPath) {
      continue;
    }
    std::string text(segment.p_filesz - 1, '\0');  // without its closing NUL
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
      program.interpreter = std::move(text);
    }
    break;
  }
  return program;
}

Result<Start> start_of(const fs::path& program, const std::vector<std::string>& command,
                       std::vector<std::string> loader, std::string_view folder) {
  if (loader.empty()) return Start{program, command};
  if (!inspect_program(program).elf) {
    return fail(Status::kUnsupported,
                fmt::format("{} is a script, which {} cannot start: give its interpreter, then {}",
                            program.string(), loader.front(), command.front()));
  }
  Start start;
  start.arguments = loader_with_folder(std::move(loader), folder);
  start.file = start.arguments.front();
  start.arguments.push_back(program.string());
  start.arguments.insert(start.arguments.end(), command.begin() + 1, command.end());
  return start;
}

std::optional<std::string> missing_hip_runtime(const fs::path& program) {
  const ProgramFile file = inspect_program(program);
  if (file.interpreter.empty()) return std::nullopt;
  const std::string command =
      shell_quote(file.interpreter) + " --list " + shell_quote(program.string()) + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  if (pipe == nullptr) return std::nullopt;
  std::array<char, 4096> line = {};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string text(line.data());
    const size_t name = text.find("libamdhip64.so");
    const bool missing = text.find("not found") != std::string::npos ||
                         text.find("cannot open shared object file") != std::string::npos;
    if (name == std::string::npos || !missing) continue;
    return text.substr(name, text.find_first_of(" \t\n:", name) - name);
  }
  return std::nullopt;
}

std::string explain_missing_hip_runtime(const std::string& program, const std::string& library) {
  constexpr std::string_view kName = "libamdhip64.so.";
  const std::string version = library.starts_with(kName) ? library.substr(kName.size()) : "";
  const std::string package =
      version.empty() ? "libamdhip64 and a version" : "libamdhip64-" + version;
  return fmt::format(
      "{} needs {}, which is not installed: install that version of the HIP runtime "
      "(Debian's name for it: {}) or add its folder to LD_LIBRARY_PATH",
      program, library, package);
}

}  // namespace gfxgraph
