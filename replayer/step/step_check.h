// What a step's last run left, compared with the recording, and where a run goes apart from it. A
// product that does not compare does not need it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "replayer/check/bisect.h"
#include "replayer/check/origins.h"
#include "replayer/check/verify.h"
#include "replayer/step/step.h"

namespace gfxgraph::replayer {

// Remembers what it had to find out about a step, which outlives it, until the step changes.
class StepCheck {
 public:
  explicit StepCheck(Step& step) noexcept : step_(step) {}

  // Waits, then compares. If differing bytes may never have been written, runs the program again
  // to determine that (origins.h), and restores memory afterwards.
  Result<VerifyReport> verify();
  // Waits, then runs the program piece by piece.
  Result<BisectReport> find_divergence(const Progress& progress = {});

 private:
  const OriginMap* known();

  Step& step_;
  std::optional<OriginMap> origins_;  // of what differed so far
  uint64_t changes_ = 0;              // the step's, when they were found
};

}  // namespace gfxgraph::replayer
