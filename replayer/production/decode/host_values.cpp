#include "replayer/production/decode/host_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gfxgraph::replayer {

Result<void> HostValues::allocate(Place& place) {
  const uint64_t words = rows_ * (1 + uint64_t{work_.settings().decode.max_blocks});
  const auto room = work_.allocating();
  const HipTable& hip = work_.library().table();
  void* memory = nullptr;
  GFXGRAPH_TRY(work_.library().check(hip.hipHostMalloc(&memory, words * sizeof(int32_t), 0),
                                     "pinned memory for lengths and block tables"));
  place.lengths = static_cast<int32_t*>(memory);
  place.block_table = place.lengths + rows_;
  return work_.library().check(hip.hipEventCreateWithFlags(&place.event, hip::kDisableTiming),
                               "an event");
}

Result<HostValues::Place*> HostValues::place(const DecodeValues& values, uint64_t size) {
  Place& place = places_[next_];
  if (place.event == nullptr) [[unlikely]] {
    if (place.lengths != nullptr) work_.library().table().hipHostFree(place.lengths);
    place.lengths = nullptr;
    GFXGRAPH_TRY(allocate(place));
  }
  if (place.in_use) {
    GFXGRAPH_TRY(work_.library().check(work_.library().table().hipEventSynchronize(place.event),
                                       "hipEventSynchronize"));
    place.in_use = false;
  }
  next_ = (next_ + 1) % kPlaces;
  std::copy_n(values.lengths, size, place.lengths);
  const uint64_t most = work_.settings().decode.max_blocks;
  if (values.columns == most) {
    std::copy_n(values.block_table, size * most, place.block_table);
    return &place;
  }
  for (uint64_t row = 0; row < size; ++row) {
    int32_t* const to = place.block_table + row * most;
    std::copy_n(values.block_table + row * values.columns, values.columns, to);
    std::fill(to + values.columns, to + most, 0);
  }
  return &place;
}

Result<void> HostValues::submitted(Place& place, hip::Stream stream) {
  const HipLibrary& library = work_.library();
  if (library.table().hipEventRecord(place.event, stream) == hip::kSuccess) [[likely]] {
    place.in_use = true;
    return {};
  }
  return library.wait_for(stream);
}

void HostValues::release() noexcept {
  const HipTable& hip = work_.library().table();
  for (Place& place : places_) {
    if (place.event != nullptr) hip.hipEventDestroy(place.event);
    if (place.lengths != nullptr) hip.hipHostFree(place.lengths);
    place = {};
  }
}

}  // namespace gfxgraph::replayer
