// What gfxgraph doctor finds out by running HIP, gfxgraph-record, gfxgraph-replay and gfxgraph
// check in processes of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"

namespace gfxgraph::tools::doctor {

// How the processes are started.
struct Launcher {
  std::string device;            // "real" or "emulated"
  double seconds = 0;            // for each process
  std::filesystem::path folder;  // for their files; empty: there is none

  // `gfxgraph run OPTIONS -- gfxgraph doctor --part PART`.
  [[nodiscard]] Child part(const std::string& part, const std::filesystem::path& into,
                           const std::vector<std::string>& options) const;
};

// The programs and libraries of gfxgraph are there, and of this version.
Check check_parts(const Launcher& launcher, const std::string& version);

// The runtime that HIP programs get, and its devices: adds checks, libraries and devices. Returns
// whether there is a device.
bool check_runtime(const Launcher& launcher, Report& report);
// In its place, without a device that it could run on.
void skip_runtime(const std::string& reason, Report& report);

// Records, replays and captures a step on a device.
void check_step(const Launcher& launcher, const Device& device, Report& report);
// In its place: one check, "step".
void skip_step(int gpu, const std::string& reason, Report& report);

}  // namespace gfxgraph::tools::doctor
