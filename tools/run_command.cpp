// gfxgraph run: puts the software agent in front of the library search path, and what tells HIP
// programs of its faults in front of HIP; then becomes the program.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/print.h"
#include "base/process/device.h"
#include "base/process/own_process.h"
#include "base/process/program.h"
#include "codeobj/code_object.h"
#include "tools/cli.h"
#include "tools/commands.h"

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

// What stands between the program and HIP, besides the agent.
struct Layers {
  bool capture = false;      // --capture
  bool capture_api = false;  // --capture-api

  Result<void> preload_all(bool emulated) const {
    if (capture) GFXGRAPH_TRY(preload(kCaptureLibrary, emulated));
    if (!capture_api) return {};
    GFXGRAPH_TRY(preload(kRecorderLibrary, emulated));
    ::setenv("GFXGRAPH_RECORD_IN_PROCESS", "1", 1);
    ::setenv("GFXGRAPH_RECORD_EMULATED", emulated ? "1" : "0", 1);
    return {};
  }
};

// Returns whether the program will see the software agent.
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
    GFXGRAPH_TRY(layers.preload_all(false));
    return false;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const fs::path agent, private_library(kAgentLibrary));
  const std::string search =
      prepend_search_path(agent.parent_path().string(), std::getenv("LD_LIBRARY_PATH"));
  ::setenv("LD_LIBRARY_PATH", search.c_str(), 1);
  console::detail(fmt::format("software agent: {}", agent.string()));
  GFXGRAPH_TRY(layers.preload_all(true));
  GFXGRAPH_TRY(preload(kHipErrorsLibrary, true));
  return true;
}

// Returns only when the program cannot be started.
Error start(const std::vector<std::string>& command, bool emulated) {
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
    const std::string message = codeobj::explain_other_targets(*program, "gfx1030");
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

}  // namespace

int run_command(int argc, char** argv) {
  const SplitArguments split = split_arguments(argc, argv);
  CLI::App app(
      "Runs a HIP program on gfxgraph's software agent, without a GPU. The program's output "
      "and\nexit code pass through unchanged. With --check, gfxgraph check then checks its work "
      "with all\ntools, also if it died, and its options may be given, too; the exit code is that "
      "of the check,\nor the program's if the check has nothing to report.\n\nExample: gfxgraph "
      "run -- ./app --size 4096\nExample: gfxgraph run --devices 2 -- ./app\nExample: gfxgraph run "
      "--check --format sarif -o check.sarif -- ./app --size 4096",
      "gfxgraph run");
  std::string device = "emulated";
  app.add_option("--device", device,
                 "auto (a GPU if there is one), real or emulated (the software agent)")
      ->check(CLI::IsMember({"auto", "real", "emulated"}))
      ->capture_default_str();
  unsigned devices = 0;
  app.add_option("--devices", devices, kDevicesHelp)->check(CLI::Range(1u, kMaxDevices));
  Layers layers;
  app.add_flag("--capture", layers.capture, kCaptureHelp);
  app.add_flag("--capture-api", layers.capture_api,
               "the program captures its steps itself, by gfxgraph/capture.h (docs/capture.md)");
  bool check = false;
  app.add_flag("--check", check, "check the program's kernels when it has ended");
  app.allow_extras(std::ranges::find(split.own, std::string_view("--check")) != split.own.end());
  app.footer("The program and its arguments follow after --.");
  const int code =
      parse(app, static_cast<int>(split.own.size()), const_cast<char**>(split.own.data()), true);
  if (code >= 0) return code;
  if (split.program.empty()) {
    console::error("no program given: gfxgraph run -- PROGRAM ARGS...");
    return kExitUsage;
  }
  if (devices != 0) ::setenv(kDevicesVariable, std::to_string(devices).c_str(), 1);
  if (check && layers.capture_api) {
    console::error("--capture-api and --check: the check records the whole program");
    return kExitUsage;
  }
  if (check) return check_program(device, layers.capture, app.remaining(), split.program);
  const Result<bool> emulated = select_device(device, devices, layers);
  if (!emulated) return report(emulated.error());
  return report(start({split.program.begin(), split.program.end()}, *emulated));
}

}  // namespace gfxgraph::tools
