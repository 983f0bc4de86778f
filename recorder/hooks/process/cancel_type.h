// Threads that the program lets be cancelled at any instruction (PTHREAD_CANCEL_ASYNCHRONOUS). In
// the recorder's own part of a call that would leave its locks and data half way, so there the type
// is PTHREAD_CANCEL_DEFERRED; in the runtime's function it is the program's. Programs without such
// threads pay a load: the recorder sees the call that sets the type.
#pragma once

#include <atomic>

namespace gfxgraph::recorder {

extern constinit std::atomic<bool> asynchronous_was_set;
inline bool asynchronous_seen() noexcept {
  return asynchronous_was_set.load(std::memory_order_relaxed);
}

// Around the runtime's function, inside of a DeferredCancellation, or elsewhere without effect. The
// first may cancel the thread, and then unwinds.
[[gnu::cold]] void cancellation_in_runtime();
[[gnu::cold]] void cancellation_in_hook() noexcept;

// A whole hook. Beginning and end may cancel the thread, and then unwind.
class DeferredCancellation {
 public:
  DeferredCancellation() {
    if (asynchronous_seen()) [[unlikely]]
      begin();
  }
  ~DeferredCancellation() noexcept(false) {
    if (begun_) [[unlikely]]
      end();
  }
  DeferredCancellation(const DeferredCancellation&) = delete;
  DeferredCancellation& operator=(const DeferredCancellation&) = delete;

 private:
  [[gnu::cold]] void begin();
  [[gnu::cold]] void end() const;

  bool begun_ = false;
  int type_;        // when it began
  int outer_type_;  // that of the hook around this one
};

}  // namespace gfxgraph::recorder
