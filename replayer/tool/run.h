// What gfxgraph-replay does with a loaded replay: runs it, compares it, and judges the comparison.
#pragma once

#include <cstddef>
#include <string>

#include "base/cli/exit_code.h"
#include "base/result.h"
#include "replayer/step/step.h"
#include "replayer/tool/interrupt.h"
#include "replayer/tool/range_end.h"
#include "replayer/tool/report.h"

namespace gfxgraph::replayer {

// Which runs are compared with the recording. A graph may be right when it is launched first and
// wrong later, so never the first alone.
enum class Verification { kNone, kFirstAndLast, kEveryRun };

struct RunRequest {
  size_t repetitions = 1;  // timed runs behind the first one
  Verification verification = Verification::kFirstAndLast;
  bool bisect = false;  // where memory differs, search the operation
  Progress progress = {};
  const RangeEnd* range_end = nullptr;  // what the trace does not hold; lives as long
};

// Each run starts from the initial state. Ends after the first run that was compared and differs.
Result<void> execute(const RunRequest& request, Step& replay, ReplayFacts& facts);

struct Verdict {
  int code = kExitOk;
  std::string reason;  // empty: everything was identical, or nothing was to be compared
};
// kExitFailed: something differs. kExitDataLost: something could not be compared, also because the
// recorded program itself leaves other bytes each time.
Verdict verdict_of(const ReplayFacts& facts);

}  // namespace gfxgraph::replayer
