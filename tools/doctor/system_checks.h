// What gfxgraph doctor can tell from the system alone: no HIP, no other process.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/doctor/checks.h"

namespace gfxgraph::tools::doctor {

// How much a GPU is wanted: --device real, auto or emulated.
enum class Gpu { kNeeded, kWanted, kUnneeded };

// The system as this process sees it; tests make others.
struct Surroundings {
  std::string root;  // in front of the paths of devices and of the kernel's files
  std::string user;
  std::vector<std::string> groups;  // of this process
  // Opens a device for reading and writing, and closes it: 0, or an errno.
  std::function<int(const std::string& path)> open;
};
Surroundings surroundings();

Check check_kfd(const Surroundings& system, Gpu gpu);
Check check_render_nodes(const Surroundings& system, Gpu gpu);
// The GPUs that the kernel driver lists.
Check check_driver(const Surroundings& system, Gpu gpu);

struct Limits {
  rlimit files{}, locked{}, addresses{}, data{};
};
Limits limits();
Check check_limits(const Limits& limits);

// Whether files can be made there, and enough of them.
Check check_temporary_folder(const std::filesystem::path& folder);
// Whether commands can read traces in a worker process (docs/security.md).
Check check_sandbox(const Surroundings& system);
// Whether programs that this process starts get the recorder.
Check check_preload();
// Whether the recorder can be in a program of the user; `emulated`: and the agent run its code.
Check check_program(const std::string& program, bool emulated);

Host describe_host();
// The variables that change what HIP, its runtime and gfxgraph do.
std::map<std::string, std::string> environment_of_runtime();

}  // namespace gfxgraph::tools::doctor
