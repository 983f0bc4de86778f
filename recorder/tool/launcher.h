// Starts a program with the recorder in it, and says afterwards what came of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/process/device.h"
#include "base/result.h"
#include "recorder/contract/options.h"

namespace gfxgraph::recorder {

struct LaunchRequest {
  Options options;  // output: as given, may be relative; status_folder: filled in here
  std::vector<std::string> program;  // argv
  DeviceChoice device = DeviceChoice::kAuto;
  unsigned devices = 0;   // of the software agent; 0: not given
  bool capture = false;   // with the capture layer in front
  bool by_table = false;  // through rocprofiler-register, with nothing in front of HIP
  bool force = false;
  bool strict = false;
};

// Everything that can be refused before the program runs.
Result<void> check_output(const std::filesystem::path& output, bool force);

// Runs the program; messages go to stderr. The program's own exit code (128 + n for signal n), or
// the contract's: 1 could not record, 3 the program returned 0 but its recording was lost, or is
// incomplete under `strict`.
Result<int> launch(const LaunchRequest& request);

}  // namespace gfxgraph::recorder
