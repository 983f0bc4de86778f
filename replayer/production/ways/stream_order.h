// Runs that follow each other, whatever their streams.
#pragma once

#include "replayer/abi/hip_library.h"

namespace gfxgraph::replayer {

// Runs of one thing, behind each other on whatever streams. Not thread-safe.
class StreamOrder {
 public:
  explicit StreamOrder(const HipLibrary& library) : library_(library) {}
  ~StreamOrder();
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;

  // What comes next on `stream` is behind the last run.
  Result<void> follow(hip::Stream stream);
  // Waits for the last run.
  Result<void> wait() const;
  void forget() noexcept { known_ = false; }

 private:
  const HipLibrary& library_;
  bool known_ = false;
  hip::Stream last_ = nullptr;
  hip::Event event_ = nullptr;
};

// Behind what the stream holds. The event is made when it is null.
Result<void> record_event(const HipLibrary& library, hip::Event& event, hip::Stream stream);
// `later` goes on behind what `earlier` holds now.
Result<void> order_streams(const HipLibrary& library, hip::Event& event, hip::Stream earlier,
                           hip::Stream later);

}  // namespace gfxgraph::replayer
