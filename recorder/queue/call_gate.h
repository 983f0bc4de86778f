// The calls of the program that are under way, where a moment without them is needed: between two
// files of a flight recorder. Nobody waits for a call to end: who needs that moment asks for it
// again and again, and only calls that begin while it lasts wait for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace gfxgraph::recorder {

class CallGate {
 public:
  // A call begins, or goes on after it let others in. Waits while the gate is closed.
  void enter() noexcept {
    for (;;) {
      uint32_t now = state_.load(std::memory_order_acquire);
      if ((now & kClosed) != 0) {
        state_.wait(now, std::memory_order_acquire);
        continue;
      }
      if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return;
    }
  }
  // It ends, or is about to wait for the device and holds nothing that belongs to a trace.
  void leave() noexcept { state_.fetch_sub(1, std::memory_order_acq_rel); }

  // False: more than `own` calls are under way. True: no call begins until open().
  bool close(uint32_t own) noexcept {
    uint32_t expected = own;
    return state_.compare_exchange_strong(expected, own | kClosed, std::memory_order_acq_rel);
  }
  void open() noexcept {
    state_.fetch_and(~kClosed, std::memory_order_acq_rel);
    state_.notify_all();
  }

 private:
  static constexpr uint32_t kClosed = uint32_t{1} << 31;
  alignas(128) std::atomic<uint32_t> state_{0};  // calls, and kClosed
};

}  // namespace gfxgraph::recorder
