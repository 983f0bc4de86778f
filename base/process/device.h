// The device for HIP programs that gfxgraph's tools start, and the location of libraries that the
// tools load into other processes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gfxgraph {

enum class DeviceChoice { kAuto, kReal, kEmulated };

// The number of equal GPUs that the software agent shows, 1 to kMaxDevices: the tools set it from
// --devices, the agent reads it. Unset: 1.
inline constexpr const char* kDevicesVariable = "GFXGRAPH_DEVICES";
inline constexpr unsigned kMaxDevices = 16;
inline constexpr const char* kDevicesHelp =
    "the number of equal GPUs that the software agent shows, 1 to 16 (default: "
    "$GFXGRAPH_DEVICES, or 1)";
// Error if `devices` (0: not given) were requested of a real GPU.
Result<void> check_devices(unsigned devices, DeviceChoice resolved);

// "auto", "real" or "emulated".
Result<DeviceChoice> parse_device_choice(std::string_view text);

// Resolves kAuto: kReal if the kernel driver lists a GPU node that this user may open, otherwise
// kEmulated. kReal without such a GPU is an error that names what is missing.
Result<DeviceChoice> resolve_device(DeviceChoice choice);

// The folder with libhsa-runtime64.so.1 (the software agent) and the preloaded libraries:
// $GFXGRAPH_LIBDIR, otherwise ../lib/gfxgraph beside the running program, otherwise the installed
// folder. Error if it lacks `file_name`.
Result<std::filesystem::path> private_library(std::string_view file_name);

// The software agent, under the name by which HIP asks for its HSA runtime.
inline constexpr std::string_view kAgentLibrary = "libhsa-runtime64.so.1";

// `folder` in front of a colon-separated search path (LD_LIBRARY_PATH).
std::string prepend_search_path(std::string_view folder, const char* current);

// The list of LD_PRELOAD with `library` at its end, once: existing entries stay in front, as
// sanitizers require. The loader splits the list at spaces and colons: a path with one is given by
// its file name alone if the folder is in LD_LIBRARY_PATH (`searched`), otherwise it is an error.
Result<std::string> append_preload(const char* current, const std::filesystem::path& library,
                                   bool searched);

// ASAN_OPTIONS for a program with preloaded libraries: AddressSanitizer's shared run-time library
// otherwise insists on being the first library. No library preloaded here replaces a function that
// it intercepts. Other programs ignore the variable.
std::string asan_options_for_preload(const char* current);

// The library that turns faults on the software agent into HIP errors (hsa/hip_errors): preloaded
// wherever the agent is used.
inline constexpr std::string_view kHipErrorsLibrary = "libgfxgraph-hip-errors.so";

// The library that answers the calls of stream capture (capture/): in front of all others.
inline constexpr std::string_view kCaptureLibrary = "libgfxgraph-capture.so";
inline constexpr const char* kCaptureHelp =
    "answer the program's stream captures with graphs of explicit nodes, instead of the runtime";

// The library that records: behind that one, in front of HIP's.
inline constexpr std::string_view kRecorderLibrary = "libgfxgraph-recorder.so";

// The library that holds launches that repeat (accelerate/): in front of all others.
inline constexpr std::string_view kAccelerateLibrary = "libgfxgraph-accelerate.so";

}  // namespace gfxgraph
