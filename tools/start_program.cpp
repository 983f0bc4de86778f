#include "tools/start_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/cli/print.h"
#include "base/process/device.h"
#include "base/process/null_device.h"
#include "base/process/own_process.h"
#include "base/process/program.h"
#include "codeobj/code_object.h"
#include "tools/cli.h"

namespace gfxgraph::tools {
namespace {

namespace fs = std::filesystem;

// At the end of LD_PRELOAD.
Result<void> preload(std::string_view library, bool emulated) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path path, private_library(library));
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string list,
                            append_preload(std::getenv("LD_PRELOAD"), path, emulated));
  ::setenv("LD_PRELOAD", list.c_str(), 1);
  ::setenv("ASAN_OPTIONS", asan_options_for_preload(std::getenv("ASAN_OPTIONS")).c_str(), 1);
  console::detail(fmt::format("LD_PRELOAD: {}", list));
  return {};
}

Result<void> preload_layers(const Layers& layers, bool emulated) {
  if (layers.accelerate) GFXGRAPH_TRY(preload(kAccelerateLibrary, emulated));
  if (layers.capture) GFXGRAPH_TRY(preload(kCaptureLibrary, emulated));
  if (!layers.capture_api) return {};
  GFXGRAPH_TRY(preload(kRecorderLibrary, emulated));
  ::setenv("GFXGRAPH_RECORD_IN_PROCESS", "1", 1);
  ::setenv("GFXGRAPH_RECORD_EMULATED", emulated ? "1" : "0", 1);
  return {};
}

}  // namespace

Result<bool> select_device(const std::string& name, unsigned devices, const Layers& layers) {
  GFXGRAPH_ASSIGN_OR_RETURN(const DeviceChoice wanted, parse_device_choice(name));
  GFXGRAPH_ASSIGN_OR_RETURN(const DeviceChoice device, resolve_device(wanted));
  GFXGRAPH_TRY(check_devices(devices, device));
  if (wanted == DeviceChoice::kAuto) {
    console::message(fmt::format("device: {}", device == DeviceChoice::kReal
                                                   ? "the real GPU"
                                                   : "the software agent (no GPU found)"));
  }
  if (device == DeviceChoice::kReal) {
    GFXGRAPH_TRY(preload_layers(layers, false));
    return false;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path agent, private_library(kAgentLibrary));
  const std::string search =
      prepend_search_path(agent.parent_path().string(), std::getenv("LD_LIBRARY_PATH"));
  ::setenv("LD_LIBRARY_PATH", search.c_str(), 1);
  console::detail(fmt::format("software agent: {}", agent.string()));
  GFXGRAPH_TRY(preload_layers(layers, true));
  GFXGRAPH_TRY(preload(kHipErrorsLibrary, true));
  return true;
}

Error start_program(const std::vector<std::string>& command, bool emulated) {
  const std::string& name = command.front();
  const Result<fs::path> program = find_program(name);
  if (!program) return program.error();
  const std::vector<std::string> loader = own_loader();
  if (loader.empty()) {
    if (const std::optional<std::string> library = missing_hip_runtime(*program)) {
      return {Status::kNotFound, explain_missing_hip_runtime(name, *library)};
    }
  }
  if (emulated) {
    const std::string message = codeobj::explain_other_targets(*program, agent_target());
    if (!message.empty()) console::error(message);
  }
  std::string agent;
  if (emulated) {
    const Result<fs::path> library = private_library(kAgentLibrary);
    if (!library) return library.error();
    agent = library->parent_path().string();
  }
  const Result<Start> start = start_of(*program, command, loader, agent);
  if (!start) return start.error();
  std::vector<char*> arguments;
  for (const std::string& argument : start->arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  console::detail(fmt::format("starting {}", program->string()));
  ::execv(start->file.c_str(), arguments.data());
  return {Status::kIo, fmt::format("{}: cannot be started: {}", name, std::strerror(errno))};
}

}  // namespace gfxgraph::tools
