// Turns of threads at calls on graphs with kernels, which HIP 5 mixes if two threads make them at
// once (HipQuirk::kGraphKernelsMix): work would be lost, done twice, or done with the arguments of
// the other one. Launches into streams take no turns: they stay concurrent, as everywhere.
#pragma once

#include <optional>

#include "capture/hooks_internal.h"

namespace gfxgraph::capture {

// The calling thread's turn, as long as it lives: from there on who comes next waits. Within it the
// runtime's calls of other functions are its own business, so nobody waits for a lock of the layer.
// On other runtimes, and within a turn of the same thread, it is nothing.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::optional<Inside> mine_;
};

// A call in its turn.
template <typename... Args>
hipError_t real_in_turn(int index, Args... args) {
  const Turn turn;
  return real(index, args...);
}

}  // namespace gfxgraph::capture
