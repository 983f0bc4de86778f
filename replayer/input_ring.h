// The bytes of one input: four places in pinned memory, so that the next run's bytes can be set
// while earlier runs still read theirs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "replayer/memory_source.h"

namespace gfxgraph::replayer {

// Not thread-safe. The work that reads the places has ended before it is destroyed.
class InputRing {
 public:
  static constexpr size_t kPlaces = 4;

  // `first` holds the recorded bytes; it belongs to the instance. Null: they have no place there.
  InputRing(const MemorySource& source, uint8_t* first, uint64_t size_bytes);
  ~InputRing();
  InputRing(const InputRing&) = delete;
  InputRing& operator=(const InputRing&) = delete;

  // Makes current() a place that no run in flight reads. `in_flight`: runs on `stream` read the
  // current one. Allocates at the first such call, and at the first one without a place; waits if
  // all places are in flight.
  Result<void> turn(bool in_flight, hip::Stream stream);
  uint8_t* current() const { return places_[at_].bytes; }  // null: none yet
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  struct Place {
    uint8_t* bytes = nullptr;
    hip::Event read = nullptr;  // behind the last run that reads it
    bool pending = false;
  };
  Result<void> allocate();
  Result<uint8_t*> allocate(uint64_t size_bytes) const;

  const MemorySource& source_;  // of the session, which outlives it
  uint64_t size_bytes_;
  uint8_t* first_ = nullptr;   // if it is none of the instance
  uint8_t* memory_ = nullptr;  // of all places but the first
  std::array<Place, kPlaces> places_;
  size_t at_ = 0;
};

}  // namespace gfxgraph::replayer
