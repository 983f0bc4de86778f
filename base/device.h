// Which device HIP programs started by gfxgraph's tools run on, and where the parts live that the
// tools load into other processes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gfxgraph {

enum class DeviceChoice { kAuto, kReal, kEmulated };

// "auto", "real" or "emulated".
Result<DeviceChoice> parse_device_choice(std::string_view text);

// Resolves kAuto: kReal when the kernel driver lists a GPU node that this user may open, else
// kEmulated. kReal without such a GPU is an error that says what is missing.
Result<DeviceChoice> resolve_device(DeviceChoice choice);

// The folder with libhsa-runtime64.so.1 (the software agent) and what is preloaded:
// $GFXGRAPH_LIBDIR, else ../lib/gfxgraph beside the running program, else the installed folder.
// Error when it lacks `file_name`.
Result<std::filesystem::path> private_library(std::string_view file_name);

// `folder` in front of a colon-separated search path (LD_LIBRARY_PATH).
std::string prepend_search_path(std::string_view folder, const char* current);

// The list of LD_PRELOAD with `library` at its end, once: what stands there already stays in front,
// as sanitizers must. The loader splits the list at spaces and colons: a path with one is given by
// its file name alone where the folder is in LD_LIBRARY_PATH (`searched`), else it is an error.
Result<std::string> append_preload(const char* current, const std::filesystem::path& library,
                                   bool searched);

// ASAN_OPTIONS for a program with something preloaded: AddressSanitizer's shared run-time library
// otherwise insists on being the first library. Nothing that is preloaded here takes the place of a
// function that it watches. Programs without it never look.
std::string asan_options_for_preload(const char* current);

// The library that makes errors of HIP from faults on the software agent (hsa/hip_errors):
// preloaded wherever the agent is.
inline constexpr std::string_view kHipErrorsLibrary = "libgfxgraph-hip-errors.so";

}  // namespace gfxgraph
