// gfxgraph run: puts the software agent in front of the library search path, and what tells HIP
// programs of its faults in front of HIP; then becomes the program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/process/device.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/start_program.h"

namespace gfxgraph::tools {

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
  return report(start_program({split.program.begin(), split.program.end()}, *emulated));
}

}  // namespace gfxgraph::tools
