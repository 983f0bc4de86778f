#include "replayer/memory/runs_in_flight.h"

namespace gfxgraph::replayer {

StreamRuns::~StreamRuns() {
  for (const Fence& fence : fences_) {
    if (fence.event != nullptr) library_.table().hipEventDestroy(fence.event);
  }
}

// Takes the oldest fence, also from a run in flight: who waits for that one waits for the next
// fence.
Result<void> StreamRuns::fence() {
  Fence& newest = fences_[(oldest_ + fences_.size() - 1) % fences_.size()];
  if (newest.run == last()) return {};
  Fence& fence = fences_[oldest_];
  const HipTable& hip = library_.table();
  if (fence.event == nullptr) {
    GFXGRAPH_TRY(
        library_.check(hip.hipEventCreateWithFlags(&fence.event, hip::kDisableTiming), "an event"));
  }
  GFXGRAPH_TRY(library_.check(hip.hipEventRecord(fence.event, stream()), "hipEventRecord"));
  fence.run = last();
  oldest_ = (oldest_ + 1) % fences_.size();
  return {};
}

bool StreamRuns::look() {
  const Result<bool> idle = library_.is_idle(stream());
  return idle && *idle;
}

Result<uint64_t> StreamRuns::block(uint64_t run) {
  const Fence* first = nullptr;
  for (const Fence& fence : fences_) {
    if (fence.run >= run && (first == nullptr || fence.run < first->run)) first = &fence;
  }
  if (first == nullptr) {
    GFXGRAPH_TRY(library_.wait_for(stream()));
    return last();
  }
  GFXGRAPH_TRY(
      library_.check(library_.table().hipEventSynchronize(first->event), "hipEventSynchronize"));
  return first->run;
}

}  // namespace gfxgraph::replayer
