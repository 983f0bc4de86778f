#include "replayer/input_ring.h"

#include <fmt/format.h>

namespace gfxgraph::replayer {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint32_t kDisableTiming = 0x2;

}  // namespace

InputRing::InputRing(std::shared_ptr<const HipLibrary> library, uint8_t* first, uint64_t size_bytes)
    : library_(std::move(library)), size_bytes_(size_bytes) {
  places_[0].bytes = first;
}

InputRing::~InputRing() {
  for (const Place& place : places_) {
    if (place.read != nullptr) library_->table().hipEventDestroy(place.read);
  }
  if (memory_ != nullptr) library_->table().hipHostFree(memory_);
}

Result<void> InputRing::allocate() {
  const uint64_t stride = (size_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  for (Place& place : places_) {
    if (place.read != nullptr) continue;
    GFXGRAPH_TRY(library_->check(
        library_->table().hipEventCreateWithFlags(&place.read, kDisableTiming), "an event"));
  }
  void* memory = nullptr;
  GFXGRAPH_TRY(library_->check(library_->table().hipHostMalloc(&memory, stride * (kPlaces - 1), 0),
                               fmt::format("pinned memory for an input of {} bytes", size_bytes_)));
  memory_ = static_cast<uint8_t*>(memory);
  for (size_t i = 1; i < kPlaces; ++i) places_[i].bytes = memory_ + (i - 1) * stride;
  return {};
}

Result<void> InputRing::turn(bool in_flight, hip::Stream stream) {
  if (!in_flight) return {};
  if (memory_ == nullptr) GFXGRAPH_TRY(allocate());
  const HipTable& hip = library_->table();
  Place& read = places_[at_];
  GFXGRAPH_TRY(library_->check(hip.hipEventRecord(read.read, stream), "hipEventRecord"));
  read.pending = true;
  Place& next = places_[(at_ + 1) % kPlaces];
  if (next.pending) {
    GFXGRAPH_TRY(library_->check(hip.hipEventSynchronize(next.read), "hipEventSynchronize"));
    next.pending = false;
  }
  at_ = (at_ + 1) % kPlaces;
  return {};
}

}  // namespace gfxgraph::replayer
