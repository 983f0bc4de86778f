// The programs that gfxgraph's tools start: resolves names and inspects files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gfxgraph {

// The file that execvp would start: `name` itself if it has a slash, otherwise through PATH.
// Errors: not found, a folder, not executable; each with the next step.
Result<std::filesystem::path> find_program(const std::string& name);

// Information from the start of a program's file. Scripts and unreadable files are not ELF.
struct ProgramFile {
  bool elf = false;
  bool x86_64 = false;
  std::string interpreter;  // the dynamic loader that it names (PT_INTERP); "": statically linked
};
ProgramFile inspect_program(const std::filesystem::path& path);

// How the tools start a program: the file to execute, and what comes in front of the program's
// arguments.
struct Start {
  std::filesystem::path file;
  std::vector<std::string> arguments;  // argv, whole
};
// Starts `program`, found for command[0], with the rest of `command`. A tool that was itself
// started through a dynamic loader (own_process.h) starts programs through it, too, so that they
// get the same C library and HIP runtime; `folder`, if any, is then searched before all others.
// Error: the loader cannot start such a file.
Result<Start> start_of(const std::filesystem::path& program,
                       const std::vector<std::string>& command, std::vector<std::string> loader,
                       std::string_view folder);

// The HIP runtime that the program needs and its loader does not find, by its name there
// ("libamdhip64.so.6"). Runs the program's own loader, which knows its search paths.
std::optional<std::string> missing_hip_runtime(const std::filesystem::path& program);
// The suggested fix.
std::string explain_missing_hip_runtime(const std::string& program, const std::string& library);

}  // namespace gfxgraph
