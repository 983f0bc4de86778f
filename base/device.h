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

// The folder with libhsa-runtime64.so.1 (the software agent) and libgfxgraph-recorder.so:
// $GFXGRAPH_LIBDIR, else ../lib/gfxgraph beside the running program, else the installed folder.
// Error when it lacks `file_name`.
Result<std::filesystem::path> private_library(std::string_view file_name);

// `folder` in front of a colon-separated search path (LD_LIBRARY_PATH, LD_PRELOAD).
std::string prepend_search_path(std::string_view folder, const char* current);

}  // namespace gfxgraph
