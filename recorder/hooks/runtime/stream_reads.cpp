#include "recorder/hooks/runtime/stream_reads.h"

#include <algorithm>
#include <bit>

namespace gfxgraph::recorder {
namespace {

// Pinned memory, at most: reads beyond it are refused until others are done. Half of what the
// recorder may take in all. Such a read cannot go piece by piece: the program or its stream would
// have to wait until each piece is written.
constexpr size_t kMostBytes = size_t{128} << 20;
constexpr size_t kLeastBytes = size_t{64} << 10;
// Size of the device buffer through which pinned memory of the program is read in pieces.
constexpr size_t kPassBytes = size_t{8} << 20;

}  // namespace

std::shared_ptr<StreamReads::Place> StreamReads::take(size_t size_bytes, bool host_memory) {
  if (size_bytes > kMostBytes) return nullptr;
  std::erase_if(left_, [&](const std::shared_ptr<Place>& place) {
    if (state(*place) == hipErrorNotReady) return false;
    free_.push_back(place);
    return true;
  });
  // The smallest one that is large enough.
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    const Place& place = **at;
    if (place.capacity_bytes < size_bytes || (place.device != nullptr) != host_memory) continue;
    if (best == free_.end() || place.capacity_bytes < (*best)->capacity_bytes) best = at;
  }
  if (best != free_.end()) {
    std::shared_ptr<Place> place = std::move(*best);
    free_.erase(best);
    return place;
  }
  // Frees none here, because HIP would wait for the device.
  const size_t left = kMostBytes - bytes_;
  if (size_bytes > left) return nullptr;
  const size_t capacity = std::min(std::max(std::bit_ceil(size_bytes), kLeastBytes), left);
  auto place = std::make_shared<Place>();
  place->reset = resets_;
  if (real(kCall_hipHostMalloc, &place->pinned, capacity, 0u) != hipSuccess) return nullptr;
  place->capacity_bytes = capacity;
  bytes_ += capacity;
  const bool made = real(kCall_hipEventCreateWithFlags, &place->done,
                         static_cast<unsigned>(hipEventDisableTiming)) == hipSuccess &&
                    (!host_memory || real(kCall_hipMalloc, &place->device,
                                          std::min(capacity, kPassBytes)) == hipSuccess);
  if (made) return place;
  release(*place);
  return nullptr;
}

bool StreamReads::copy(const Place& place, hipStream_t stream, uint64_t address,
                       size_t size_bytes) {
  const size_t most = place.device == nullptr ? size_bytes : kPassBytes;
  for (size_t at = 0; at < size_bytes; at += most) {
    const size_t size = std::min(most, size_bytes - at);
    void* source = reinterpret_cast<void*>(address + at);
    if (place.device != nullptr) {
      if (real(kCall_hipMemcpyAsync, place.device, source, size, hipMemcpyHostToDevice, stream) !=
          hipSuccess) {
        return false;
      }
      source = place.device;
    }
    if (real(kCall_hipMemcpyAsync, static_cast<char*>(place.pinned) + at, source, size,
             hipMemcpyDeviceToHost, stream) != hipSuccess) {
      return false;
    }
  }
  return real(kCall_hipEventRecord, place.done, stream) == hipSuccess;
}

hipError_t StreamReads::state(const Place& place) {
  if (place.reset != resets_) return hipErrorInvalidHandle;
  return real(kCall_hipEventQuery, place.done);
}

void StreamReads::give_back(std::shared_ptr<Place> place) {
  if (place->reset == resets_) left_.push_back(std::move(place));
}

void StreamReads::release(Place& place) {
  bytes_ -= place.capacity_bytes;
  if (place.done != nullptr) (void)real(kCall_hipEventDestroy, place.done);
  if (place.device != nullptr) (void)real(kCall_hipFree, place.device);
  (void)real(kCall_hipHostFree, place.pinned);
}

void StreamReads::forget() {
  for (const std::shared_ptr<Place>& place : left_) release(*place);
  for (const std::shared_ptr<Place>& place : free_) release(*place);
  left_.clear();
  free_.clear();
}

void StreamReads::lost() {
  left_.clear();
  free_.clear();
  bytes_ = 0;
  ++resets_;
}

}  // namespace gfxgraph::recorder
