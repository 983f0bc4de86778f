// The differences between two traces: code, launches in order, final contents of buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

struct KernelChange {
  std::string name;  // mangled
  std::vector<std::string>
      what;  // "code 512 -> 528 bytes", "arguments", "LDS 0 -> 512 bytes"; never empty
};

// A launch of one trace and the launch of the other at the same place of the program.
struct LaunchChange {
  uint64_t first = 0, second = 0;  // launches of each trace, from 0, graph nodes at each launch
  std::string kernel;              // mangled
  std::vector<std::string> what;   // "grid 4x1x1 -> 8x1x1", "argument n: 12 -> 13"
};

struct LaunchRun {
  uint64_t begin = 0, count = 0;  // launches of that trace, one after the other
  std::string kernel;             // of the first of them
};

struct BufferChange {
  std::string name;
  std::string what;
};

struct TraceDiff {
  std::vector<std::string> environment;  // "HIP runtime 5.2.21153 -> 6.4.43482"; no difference
  std::vector<std::string> kernels_added, kernels_gone;
  std::vector<KernelChange> kernels_changed;
  uint64_t launches[2] = {};  // of both traces
  uint64_t aligned = 0;
  // Too many differences to align the part between the first and the last difference: all of it
  // counts as added and removed.
  bool alignment_given_up = false;
  std::vector<LaunchRun> launches_added, launches_gone;
  std::vector<LaunchChange> launches_changed;  // the first kMostChanges
  uint64_t launches_changed_count = 0;
  uint64_t buffers_compared = 0;  // of the same name, whose last contents are known in both
  std::vector<BufferChange> buffers_changed;
  std::vector<std::string> buffers_added, buffers_gone;

  static constexpr size_t kMostChanges = 1000;
  bool same() const {
    return kernels_added.empty() && kernels_gone.empty() && kernels_changed.empty() &&
           launches_added.empty() && launches_gone.empty() && launches_changed_count == 0 &&
           buffers_changed.empty() && buffers_added.empty() && buffers_gone.empty();
  }
};

Result<TraceDiff> diff_traces(const format::Trace& first, const format::Trace& second);

}  // namespace gfxgraph::tools
