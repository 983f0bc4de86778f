// How long runs take on the device, by events, without waiting for them.
#pragma once

#include <array>

#include "replayer/abi/hip_library.h"
#include "replayer/production/histogram.h"

namespace gfxgraph::replayer {

// Not thread-safe. Each run in flight needs a pair of events; there are kPairs.
class RunTimings {
 public:
  static constexpr size_t kPairs = 4;
  struct Pair {
    hip::Event begin = nullptr;
    hip::Event end = nullptr;
    bool in_flight = false;
  };

  explicit RunTimings(const HipLibrary& library) : library_(library) {}
  ~RunTimings();
  RunTimings(const RunTimings&) = delete;
  RunTimings& operator=(const RunTimings&) = delete;

  // Null: all pairs are in flight.
  Result<Pair*> begin(hip::Stream stream);
  Result<void> end(Pair& pair, hip::Stream stream);
  // Adds the runs that have ended.
  void collect(Histogram& to) noexcept;

 private:
  const HipLibrary& library_;
  std::array<Pair, kPairs> pairs_;
};

}  // namespace gfxgraph::replayer
