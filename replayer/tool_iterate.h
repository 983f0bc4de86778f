// gfxgraph-replay --iterations, --set, --input, --output, --list: a step run again and again, with
// values and contents of the user's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/parameters.h"
#include "replayer/step.h"

namespace gfxgraph::replayer {

struct IterateRequest {
  uint64_t iterations = 1;
  std::vector<std::string>
      set;  // "NAME=7": always; "NAME=+1", "NAME=-1": a step as recorded plus that
  std::vector<std::string> inputs;   // "BUFFER=FILE": its bytes before the first iteration
  std::vector<std::string> outputs;  // "BUFFER=FILE": its bytes after the last one
  bool empty() const { return iterations == 1 && set.empty() && inputs.empty() && outputs.empty(); }
};

// Checks all names and files, then makes memory what it was where the step begins, and runs.
// Parameters that are not set go on as they did in the recording (StepParameter::value).
Result<void> iterate(const IterateRequest& request, const std::vector<StepParameter>& parameters,
                     Step& step);

// Parameters and buffers of a step, by the names that --set, --input and --output take.
std::string list_text(const Program& program, const std::vector<StepParameter>& parameters);

}  // namespace gfxgraph::replayer
