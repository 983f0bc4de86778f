// The bytes with which a range in the middle of a recording ends. The trace does not hold them, so
// the tool replays the whole trace: if that ends as recorded, its bytes at the range's end count.
// Not of memory that the host sees: what the program wrote there is in the trace where work next
// reads it, which may be behind the range, or nowhere.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "replayer/check/verify.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"

namespace gfxgraph::replayer {

// Of buffers in the memory of one session, which keeps their addresses.
class RangeEnd {
 public:
  // Whether `range`, a part of `whole`, has buffers that later work may change.
  static bool is_needed(const Program& whole, const Program& range);
  // Replays `whole` twice in mode batch, once up to the end of the range. kIncomplete: it does not
  // end as recorded, or not everything could be compared. The session's memory is changed.
  static Result<RangeEnd> find(const std::shared_ptr<Session>& session,
                               const std::shared_ptr<const Program>& whole, const Program& range,
                               const StepOptions& options);

  // Compares the buffers of `report` that later work may have changed. The caller has waited for
  // the run.
  Result<void> compare(const Instance& instance, VerifyReport& report) const;

 private:
  std::vector<format::BlobId> hashes_;  // index = id - 1
};

// Step::verify(), and what `end` tells beyond it; null: nothing.
Result<VerifyReport> verify_step(Step& step, StepCheck& check, const RangeEnd* end);

}  // namespace gfxgraph::replayer
