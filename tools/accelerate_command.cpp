// gfxgraph accelerate: puts the library that holds repeated launches (accelerate/) in front of HIP;
// then becomes the program.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/cli/console.h"
#include "base/process/device.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/start_program.h"

namespace gfxgraph::tools {

int accelerate_command(int argc, char** argv) {
  const SplitArguments split = split_arguments(argc, argv);
  CLI::App app(
      "Runs a HIP program and submits launches that repeat as graphs where that was measured to "
      "be\nfaster (docs/production/accelerate.md). The program's output and exit code pass through "
      "unchanged; "
      "a short\nreport goes to stderr at its end. GFXGRAPH=0 in the environment turns it off, "
      "GFXGRAPH=debug\ntells each choice.\n\nExample: gfxgraph accelerate -- ./app --size "
      "4096\nExample: gfxgraph accelerate --json report.json --quiet -- ./app",
      "gfxgraph accelerate");
  std::string device = "auto";
  app.add_option("--device", device,
                 "auto (a GPU if there is one), real or emulated (the software agent)")
      ->check(CLI::IsMember({"auto", "real", "emulated"}))
      ->capture_default_str();
  Layers layers{.accelerate = true};
  app.add_flag("--capture", layers.capture, kCaptureHelp);
  std::string json;
  app.add_option("--json", json, "write the report to this file as JSON");
  app.footer("The program and its arguments follow after --. --quiet: no report on stderr.");
  const int code =
      parse(app, static_cast<int>(split.own.size()), const_cast<char**>(split.own.data()), true);
  if (code >= 0) return code;
  if (split.program.empty()) {
    console::error("no program given: gfxgraph accelerate -- PROGRAM ARGS...");
    return kExitUsage;
  }
  const char* const preloaded = std::getenv("LD_PRELOAD");
  if (preloaded != nullptr &&
      std::string_view(preloaded).find(kRecorderLibrary) != std::string_view::npos) {
    console::error(
        "this process is recorded: the trace would have graphs in place of the program's "
        "launches; record without gfxgraph accelerate");
    return kExitUsage;
  }
  if (!json.empty()) ::setenv("GFXGRAPH_ACCELERATE_JSON", json.c_str(), 1);
  if (console::options().quiet) ::setenv("GFXGRAPH_ACCELERATE_QUIET", "1", 1);
  const Result<bool> emulated = select_device(device, 0, layers);
  if (!emulated) return report(emulated.error());
  return report(start_program({split.program.begin(), split.program.end()}, *emulated));
}

}  // namespace gfxgraph::tools
