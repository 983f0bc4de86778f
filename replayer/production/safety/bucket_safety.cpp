// What a bucket checks: that it captured what it should, and in strict mode that nothing fell.
#include <fmt/format.h>

#include "replayer/production/bucket.h"

namespace gfxgraph::replayer {

// Of what was captured now.
Result<void> Bucket::check_identity(const CapturedStep& step) {
  const PoolSettings& settings = work_.settings();
  GFXGRAPH_ASSIGN_OR_RETURN(const Identity now, step.identity());
  const Identity before = records_.identity.set(now);
  if (before != Identity{} && before != now && settings.is_strict()) {
    return fail(Status::kMismatch,
                fmt::format("the captured step (code, sequence) is {:016x} {:016x}, and was "
                            "{:016x} {:016x} before",
                            now.code, now.sequence, before.code, before.sequence));
  }
  if (!settings.safety.fingerprint) return {};
  return settings.safety.fingerprint->check(shape_.size, shape_.max_length, now,
                                            settings.is_strict());
}

// Strict: whether the run may go on, or has been, as `result` has it.
Result<void> Bucket::check_compared(const RunResult& result) const {
  if (result.validation == GFXGRAPH_VALIDATION_DIFFERENT) {
    return fail(Status::kMismatch,
                fmt::format("strict: the step of bucket {} and the function differ; the outputs "
                            "are the function's",
                            shape_.size));
  }
  if (result.validation == GFXGRAPH_VALIDATION_UNCOMPARED && ways_.is_settled()) {
    return fail(Status::kMismatch,
                fmt::format("strict: a run of bucket {} is due and cannot be compared: there is no "
                            "room for a second set of its buffers",
                            shape_.size));
  }
  return {};
}

}  // namespace gfxgraph::replayer
