// The results of a run, in a form that two processes with different addresses can compare.
#pragma once

#include <vector>

#include "base/result.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

// XXH3-128 of every allocation (index = id - 1; default if there is none), then of the bytes that
// each copy to plain host memory received. Aligned words that are addresses of the replay's buffers
// count as the recorded addresses. The caller has waited for the run.
Result<std::vector<format::BlobId>> fingerprint(const Instance& instance);

}  // namespace gfxgraph::replayer
