#include "replayer/input_ring.h"

#include <fmt/format.h>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kSlotAlignment = 256;

}  // namespace

InputRing::InputRing(const MemorySource& source, uint8_t* first, uint64_t size_bytes)
    : source_(source), size_bytes_(size_bytes) {
  places_[0].bytes = first;
}

InputRing::~InputRing() {
  for (const Place& place : places_) {
    if (place.read != nullptr) source_.library().table().hipEventDestroy(place.read);
  }
  source_.release(MemoryKind::kPinned, memory_);
  source_.release(MemoryKind::kPinned, first_);
}

Result<uint8_t*> InputRing::allocate(uint64_t size_bytes) const {
  GFXGRAPH_ASSIGN_OR_RETURN(
      void* const memory,
      source_.allocate(MemoryKind::kPinned, size_bytes, 0,
                       fmt::format("pinned memory for an input of {} bytes", size_bytes_)));
  return static_cast<uint8_t*>(memory);
}

Result<void> InputRing::allocate() {
  const uint64_t stride = (size_bytes_ + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  for (Place& place : places_) {
    if (place.read != nullptr) continue;
    GFXGRAPH_TRY(source_.library().check(
        source_.library().table().hipEventCreateWithFlags(&place.read, hip::kDisableTiming),
        "an event"));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(memory_, allocate(stride * (kPlaces - 1)));
  for (size_t i = 1; i < kPlaces; ++i) places_[i].bytes = memory_ + (i - 1) * stride;
  return {};
}

Result<void> InputRing::turn(bool in_flight, hip::Stream stream) {
  if (places_[at_].bytes == nullptr) {  // runs in flight have read the trace
    GFXGRAPH_ASSIGN_OR_RETURN(first_, allocate(size_bytes_));
    places_[at_].bytes = first_;
    return {};
  }
  if (!in_flight) return {};
  if (memory_ == nullptr) GFXGRAPH_TRY(allocate());
  const HipTable& hip = source_.library().table();
  Place& read = places_[at_];
  GFXGRAPH_TRY(source_.library().check(hip.hipEventRecord(read.read, stream), "hipEventRecord"));
  read.pending = true;
  Place& next = places_[(at_ + 1) % kPlaces];
  if (next.pending) {
    GFXGRAPH_TRY(
        source_.library().check(hip.hipEventSynchronize(next.read), "hipEventSynchronize"));
    next.pending = false;
  }
  at_ = (at_ + 1) % kPlaces;
  return {};
}

}  // namespace gfxgraph::replayer
