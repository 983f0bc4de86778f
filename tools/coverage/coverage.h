// The emulator's support of the device code in files: libraries, programs, offload bundles, code
// objects, traces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/coverage/kernel_waits.h"
#include "tools/coverage/kernel_walk.h"

namespace gfxgraph::tools {

struct ObjectCoverage {
  std::string target;  // "amdgcn-amd-amdhsa--gfx1030"
  std::string error;   // why it could not be read; then there are no kernels
  std::vector<KernelWalk> kernels;
  std::optional<KernelWaits> waits;  // if they were asked for
};

struct FileCoverage {
  std::string path;
  Error error;  // status kOk: none
  std::vector<ObjectCoverage> objects;
  std::map<std::string, uint64_t> skipped;  // code objects by target, for other GPUs

  uint64_t kernels() const;
  uint64_t complete() const;
  bool damaged() const;  // an object or the file itself could not be read
};

// Called before each code object for gfx1030 is walked; may be empty.
using CoverageProgress = std::function<void(uint64_t object, uint64_t of)>;
// Never fails as a whole: `error` has the reason for unreadable parts. `waits`: look for missing
// waits, too.
FileCoverage cover_file(const std::string& path, const CoverageProgress& progress = {},
                        bool waits = false);

struct MissingOpcode {
  std::string name;
  uint64_t instructions = 0;
  uint64_t kernels = 0;
};
// Over all files, most kernels first.
std::vector<MissingOpcode> missing_opcodes(const std::vector<FileCoverage>& files);

}  // namespace gfxgraph::tools
