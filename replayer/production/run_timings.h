// How long runs take on the device, by events, without waiting for them.
#pragma once

#include <array>

#include "replayer/abi/hip_library.h"
#include "replayer/production/histogram.h"
#include "replayer/production/measure/choice.h"

namespace gfxgraph::replayer {

// Not thread-safe. Each run in flight needs a pair of events; there are kPairs.
class RunTimings {
 public:
  static constexpr size_t kPairs = 4;
  struct Pair {
    hip::Event begin = nullptr;
    hip::Event end = nullptr;
    bool in_flight = false;
    // Of the run: whether its time was asked for, and the way that is measured with it, if any.
    bool timed = false;
    uint32_t measured = GFXGRAPH_WAY_WORK;
    uint64_t submit = 0;  // nanoseconds
  };

  explicit RunTimings(const HipLibrary& library) : library_(library) {}
  ~RunTimings();
  RunTimings(const RunTimings&) = delete;
  RunTimings& operator=(const RunTimings&) = delete;

  bool is_possible() const { return library_.table().hipEventElapsedTime != nullptr; }
  // Null: all pairs are in flight.
  Result<Pair*> begin(hip::Stream stream);
  Result<void> end(Pair& pair, hip::Stream stream);
  // The runs that have ended: adds those that were timed, and the measured ones to the choice.
  void collect(Histogram& to, Choice& choice);
  // The runs in flight measure no way.
  void forget_measured() noexcept {
    for (Pair& one : pairs_) one.measured = GFXGRAPH_WAY_WORK;
  }

 private:
  const HipLibrary& library_;
  std::array<Pair, kPairs> pairs_;
};

}  // namespace gfxgraph::replayer
