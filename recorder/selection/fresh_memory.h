// Memory that nobody can have written since the program got it, if only ranges are recorded: memory
// that is allocated in a recorded section, or between two of them (or before the first) while no
// kernel has run there. A kernel that runs outside may have received any address, through host
// memory even one that was allocated after its launch. Copies and memsets outside name their
// destinations.
#pragma once

#include <atomic>
#include <cstdint>

namespace gfxgraph::recorder {

class FreshMemory {
 public:
  using Phase = uint64_t;
  static constexpr Phase kWritten = 0;

  // Any thread, without a lock: before a kernel or graph runs that is not recorded.
  void kernels_run() noexcept {
    if (!ran_.load(std::memory_order_relaxed)) ran_.store(true, std::memory_order_relaxed);
  }

  // The others: with the recorder's lock. Of memory that is given out now.
  Phase now() const noexcept { return ran_.load(std::memory_order_relaxed) ? kWritten : phase_; }
  // Of memory whose copies and memsets are known: still unwritten.
  bool fresh(Phase given_out) const noexcept { return given_out == now() && given_out != kWritten; }
  // `idle`: the device was seen to have done all that was issued before.
  void stretch_begins(bool idle) noexcept {
    if (ran_.exchange(!idle, std::memory_order_relaxed)) ++phase_;
  }
  void stretch_ends(bool idle) noexcept {
    ran_.store(!idle, std::memory_order_relaxed);
    ++phase_;
  }

 private:
  std::atomic<bool> ran_{false};
  Phase phase_ = kWritten + 1;
};

}  // namespace gfxgraph::recorder
