// The bytes of one input: four places in pinned memory, so that the next run's bytes can be set
// while earlier runs still read theirs.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "replayer/memory/memory_source.h"
#include "replayer/memory/rotation.h"

namespace gfxgraph::replayer {

// Not thread-safe. The work that reads the places has ended before it is destroyed.
class InputRing {
 public:
  // `first` holds the recorded bytes; it belongs to the instance. Null: they have no place there.
  InputRing(const MemorySource& source, RunsInFlight& runs, uint8_t* first, uint64_t size_bytes);
  ~InputRing();
  InputRing(const InputRing&) = delete;
  InputRing& operator=(const InputRing&) = delete;

  // Makes current() a place that no run in flight reads. Allocates at the first call without one,
  // and at the first one while a run is in flight; waits if all places are in flight.
  Result<void> turn();
  uint8_t* current() const { return places_.current(); }  // null: none yet
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  Result<void> allocate();
  Result<uint8_t*> allocate(uint64_t size_bytes) const;

  const MemorySource& source_;  // of the session, which outlives it
  RunsInFlight& runs_;          // of the step
  uint64_t size_bytes_;
  uint8_t* first_ = nullptr;   // if it is none of the instance
  uint8_t* memory_ = nullptr;  // of all places but the first
  Rotation<uint8_t*> places_;
};

}  // namespace gfxgraph::replayer
