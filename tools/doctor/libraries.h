// The files of HIP's runtime on this machine, whether a program would find them or not. Opens no
// library: what they do when they are loaded is for a child process to find out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/checks.h"

namespace gfxgraph::tools::doctor {

// Where libraries may be: LD_LIBRARY_PATH or the search path of the loader that started this
// program, the folders of the system's library cache, $ROCM_PATH and /opt/rocm*.
std::vector<std::filesystem::path> library_folders();

// All of "NAME.so*" and "NAME-*.so*" (wheels) in the folders, each file once, by the shortest of
// its names that has a version of one number, as loaders ask for it.
std::vector<Library> find_libraries(const std::vector<std::filesystem::path>& folders,
                                    std::string_view name);

// DT_SONAME of an x86-64 library; empty: there is none, or it is not such a file.
std::string soname_of(const std::filesystem::path& file);

// Marks the one that a process has loaded from `path`, and adds it if it is not among them.
void mark_loaded(std::vector<Library>& libraries, const std::string& name, const std::string& path);

}  // namespace gfxgraph::tools::doctor
