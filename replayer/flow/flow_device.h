// What branches, loops, compositions and pipelines have of a device and its streams.
#pragma once

#include <memory>

#include "replayer/abi/hip_library.h"
#include "replayer/session/launch_lock.h"

namespace gfxgraph::replayer {

// Immutable; any thread.
class FlowDevice {
 public:
  // The calling thread's current one.
  static Result<std::shared_ptr<const FlowDevice>> current();

  const HipLibrary& library() const { return *library_; }
  const std::shared_ptr<const HipLibrary>& share_library() const { return library_; }
  int ordinal() const { return ordinal_; }
  // Held while a function of the caller launches: its kernels may be in graphs of other threads.
  LaunchLock::Launching launching() const {
    return lock_ ? lock_->launching() : LaunchLock::Launching();
  }
  // A stream that a recorder in the process knows, as one of the program.
  Result<hip::Stream> make_stream() const;
  void destroy_stream(hip::Stream stream) const noexcept;

 private:
  std::shared_ptr<const HipLibrary> library_;
  int ordinal_ = 0;
  std::shared_ptr<LaunchLock> lock_;  // null: the runtime needs none
};

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
