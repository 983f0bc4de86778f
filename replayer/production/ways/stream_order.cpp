#include "replayer/production/ways/stream_order.h"

namespace gfxgraph::replayer {

Result<void> record_event(const HipLibrary& library, hip::Event& event, hip::Stream stream) {
  const HipTable& hip = library.table();
  if (event == nullptr) {
    GFXGRAPH_TRY(
        library.check(hip.hipEventCreateWithFlags(&event, hip::kDisableTiming), "an event"));
  }
  return library.check(hip.hipEventRecord(event, stream), "hipEventRecord");
}

Result<void> order_streams(const HipLibrary& library, hip::Event& event, hip::Stream earlier,
                           hip::Stream later) {
  GFXGRAPH_TRY(record_event(library, event, earlier));
  return library.check(library.table().hipStreamWaitEvent(later, event, 0), "hipStreamWaitEvent");
}

StreamOrder::~StreamOrder() {
  if (event_ != nullptr) library_.table().hipEventDestroy(event_);
}

Result<void> StreamOrder::follow(hip::Stream stream) {
  if (known_ && last_ != stream) {
    GFXGRAPH_ASSIGN_OR_RETURN(const bool done, library_.is_idle(last_));
    if (!done) GFXGRAPH_TRY(order_streams(library_, event_, last_, stream));
  }
  last_ = stream;
  known_ = true;
  return {};
}

Result<void> StreamOrder::wait() const {
  return known_ ? library_.wait_for(last_) : Result<void>();
}

}  // namespace gfxgraph::replayer
