// Reads of memory behind the work of a stream, by copies into pinned memory of the recorder's own:
// whoever asks goes on. For the helper thread of hip_device.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "recorder/hooks/calls/hooks_internal.h"

namespace gfxgraph::recorder {

class StreamReads {
 public:
  // Memory for one read, used again for later ones.
  struct Place {
    void* pinned = nullptr;
    void* device = nullptr;  // what pinned memory of the program passes through; else nullptr
    size_t capacity_bytes = 0;
    hipEvent_t done = nullptr;
    uint32_t reset = 0;  // how often the device had been reset
  };

  // nullptr: the runtime refuses, or too much is under way. `host_memory`: what is to be read is
  // memory of the host. HIP copies such memory to other memory of the host only when it has waited
  // for the stream: its bytes pass through the device's.
  std::shared_ptr<Place> take(size_t size_bytes, bool host_memory);
  // On any thread. False: the runtime refuses. A part may be under way then, and nothing tells when
  // it is done: the place must not be given back.
  static bool copy(const Place& place, hipStream_t stream, uint64_t address, size_t size_bytes);
  // hipErrorNotReady: not yet.
  hipError_t state(const Place& place);
  // `place` of a read that is done, or of which nobody will ask again.
  void give_back(std::shared_ptr<Place> place);
  // Before the device is reset.
  void forget();
  // After it: what is still under way never arrives, and nothing of it exists any more.
  void lost();

 private:
  void release(Place& place);

  std::vector<std::shared_ptr<Place>> free_;
  std::vector<std::shared_ptr<Place>> left_;  // given back, and not known to be done
  size_t bytes_ = 0;                          // of all places
  uint32_t resets_ = 0;
};

}  // namespace gfxgraph::recorder
