// The recorder's own part of a call of the program.
#pragma once

#include <pthread.h>

namespace gfxgraph::recorder {

// While it lives, pthread_cancel() does not end this thread: it waits until the program's own code,
// or a call of the runtime, reaches a point where it may. Otherwise it would unwind the recorder's
// code, and the locks that this holds.
class NoCancel {
 public:
  NoCancel() noexcept { (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { (void)pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace gfxgraph::recorder
