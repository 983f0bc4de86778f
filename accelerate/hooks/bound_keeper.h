// The thread that submits what is held when the program lets the bound pass without another call.
#pragma once

#include <atomic>
#include <cstdint>

namespace gfxgraph::accelerate {

// CLOCK_MONOTONIC.
uint64_t bound_clock_ns() noexcept;

// Made with the first sequence that is held, asleep while none is for some milliseconds. It never
// ends; at the end of the process it finds nothing held, so it calls the runtime no more.
class BoundKeeper {
 public:
  // Something is held from now on. Any thread, with the holder's lock. A system call only if the
  // thread is asleep.
  void begins(uint64_t since_ns) noexcept;
  // Whether its thread exists: without one nothing may be held.
  bool start() noexcept;

 private:
  static void* run(void* self) noexcept;
  void keep() noexcept;

  std::atomic<uint32_t> awake_{0};  // a futex
  std::atomic<uint64_t> begun_{0};
  bool started_ = false;
};

BoundKeeper& bound_keeper() noexcept;

}  // namespace gfxgraph::accelerate
