// Finds where a replay diverged from the recording.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "replayer/check/verify.h"
#include "replayer/session/executor.h"

namespace gfxgraph::replayer {

struct Divergence {
  // The state before this operation is right and the one after it is wrong, or the span
  // [first_operation, last_operation] contains the divergent operation.
  uint32_t first_operation = 0;
  uint32_t last_operation = 0;
  format::AllocationId allocation = 0;  // the first divergent one there
  std::string reference;                // what "right" means: "checkpoints", "eager mode", ...
};

// What a search compared and found. Buffers only: it does not search bytes that copies to the host
// received.
struct BisectReport {
  std::optional<Divergence> divergence;
  size_t checkpoints = 0;  // recorded checkpoints that were there to compare with
  // If the mode and eager mode left the same bytes: eager mode compared with the recording.
  std::optional<VerifyReport> eager;
};

// Replays prefixes of the program in `mode` and searches the first operation after which memory
// diverges: from recorded checkpoints if the trace has them, otherwise from eager mode. Leaves the
// memory in the state of the last prefix.
Result<BisectReport> bisect(Instance& instance, Mode mode, const ExecutorOptions& options,
                            hip::Stream stream, const OriginMap* origins = nullptr,
                            const Progress& progress = {});

}  // namespace gfxgraph::replayer
