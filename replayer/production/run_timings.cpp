#include "replayer/production/run_timings.h"

#include <algorithm>

namespace gfxgraph::replayer {

RunTimings::~RunTimings() {
  for (const Pair& pair : pairs_) {
    if (pair.begin != nullptr) library_.table().hipEventDestroy(pair.begin);
    if (pair.end != nullptr) library_.table().hipEventDestroy(pair.end);
  }
}

Result<RunTimings::Pair*> RunTimings::begin(hip::Stream stream) {
  const HipTable& hip = library_.table();
  if (hip.hipEventElapsedTime == nullptr) {
    return fail(Status::kUnsupported,
                "this HIP runtime lacks hipEventElapsedTime: run without `timed`");
  }
  const auto free = std::ranges::find_if(pairs_, [](const Pair& one) { return !one.in_flight; });
  if (free == pairs_.end()) return nullptr;
  for (hip::Event* const event : {&free->begin, &free->end}) {
    if (*event != nullptr) continue;
    GFXGRAPH_TRY(library_.check(hip.hipEventCreateWithFlags(event, 0), "an event that has a time"));
  }
  GFXGRAPH_TRY(library_.check(hip.hipEventRecord(free->begin, stream), "hipEventRecord"));
  free->timed = false;
  free->measured = GFXGRAPH_WAY_WORK;
  return &*free;
}

Result<void> RunTimings::end(Pair& pair, hip::Stream stream) {
  GFXGRAPH_TRY(library_.check(library_.table().hipEventRecord(pair.end, stream), "hipEventRecord"));
  pair.in_flight = true;
  return {};
}

void RunTimings::collect(Histogram& to, Choice& choice) {
  const HipTable& hip = library_.table();
  for (Pair& pair : pairs_) {
    if (!pair.in_flight) continue;
    float milliseconds = 0;
    const hip::Error code = hip.hipEventElapsedTime(&milliseconds, pair.begin, pair.end);
    if (code != hip::kSuccess) hip.hipGetLastError();  // the program must not see ours
    if (code == hip::kErrorNotReady) continue;
    pair.in_flight = false;
    const bool known = code == hip::kSuccess && milliseconds >= 0;
    const auto nanoseconds = static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
    if (known && pair.timed) to.add(nanoseconds);
    if (pair.measured == GFXGRAPH_WAY_WORK) continue;
    if (known) {
      choice.ended(pair.measured, pair.submit, nanoseconds);
    } else {
      choice.lost(pair.measured);
    }
  }
}

}  // namespace gfxgraph::replayer
