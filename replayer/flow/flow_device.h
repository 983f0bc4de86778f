// What branches, loops, compositions and pipelines have of a device and its streams.
#pragma once

#include <memory>

#include "replayer/abi/hip_library.h"
#include "replayer/production/ways/stream_order.h"
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

}  // namespace gfxgraph::replayer
