// gfxgraph-replay --iterations, --set, --input, --output, --list: a step run again and again, with
// values and contents of the user's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/program/range.h"
#include "replayer/step/step.h"

namespace gfxgraph::replayer {

struct IterateRequest {
  uint64_t iterations = 1;
  // "NAME=7", "NAME=-5": this value always; "NAME=+1", "NAME=+-1": from the recorded value on by
  // this step.
  std::vector<std::string> set;
  // "NAME=FILE": for an input, the bytes of every iteration, or those of all iterations in a row;
  // for a buffer, its bytes before the first iteration.
  std::vector<std::string> inputs;
  // "NAME=FILE": for an output, its bytes of all iterations in a row; for a buffer, its bytes after
  // the last iteration. BUFFER+OFFSET and BUFFER+OFFSET:BYTES are a part of a buffer.
  std::vector<std::string> outputs;
  bool empty() const { return iterations == 1 && set.empty() && inputs.empty() && outputs.empty(); }
};

// Checks all names and files, restores the memory contents of the step's beginning, and runs.
// Parameters that are not set continue as in the recording (StepParameter::value).
// `step` is made of `range`. `progress` may be empty. Returns how many were run: Ctrl-C ends them
// after the present one, and the outputs hold the bytes of those that were run.
Result<uint64_t> iterate(const IterateRequest& request, const Range& range, Step& step,
                         const Progress& progress = {});

// Parameters, inputs, outputs and buffers, by the names that --set, --input and --output take.
std::string list_text(const Range& range);

}  // namespace gfxgraph::replayer
