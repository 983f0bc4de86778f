#include "replayer/production/decode/host_values.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::replayer {

Result<void> HostValues::allocate() {
  const auto room = work_.allocating();
  const HipLibrary& library = work_.library();
  for (Group& one : groups_) {
    if (one.event != nullptr) continue;
    GFXGRAPH_TRY(library.check(
        library.table().hipEventCreateWithFlags(&one.event, hip::kDisableTiming), "an event"));
  }
  const uint64_t words = rows_ * (1 + uint64_t{work_.settings().decode.max_blocks});
  void* memory = nullptr;
  GFXGRAPH_TRY(library.check(
      library.table().hipHostMalloc(&memory, kGroups * kInGroup * words * sizeof(int32_t), 0),
      "pinned memory for lengths and block tables"));
  memory_ = static_cast<int32_t*>(memory);
  return {};
}

Result<HostValues::Place> HostValues::place(const DecodeValues& values, uint64_t size) {
  if (memory_ == nullptr) [[unlikely]]
    GFXGRAPH_TRY(allocate());
  Group& group = groups_[next_ / kInGroup];
  if (next_ % kInGroup == 0 && group.in_use) {
    GFXGRAPH_TRY(work_.library().check(work_.library().table().hipEventSynchronize(group.event),
                                       "hipEventSynchronize"));
    group.in_use = false;
  }
  const uint64_t most = work_.settings().decode.max_blocks;
  Place place;
  place.lengths = memory_ + next_ * rows_ * (1 + most);
  place.block_table = place.lengths + rows_;
  std::copy_n(values.lengths, size, place.lengths);
  if (values.columns == most) {
    std::copy_n(values.block_table, size * most, place.block_table);
    return place;
  }
  for (uint64_t row = 0; row < size; ++row) {
    int32_t* const to = place.block_table + row * most;
    std::copy_n(values.block_table + row * values.columns, values.columns, to);
    std::fill(to + values.columns, to + most, 0);
  }
  return place;
}

Result<void> HostValues::submitted(hip::Stream stream) {
  Group& group = groups_[next_ / kInGroup];
  const bool is_last = next_ % kInGroup == kInGroup - 1;
  next_ = (next_ + 1) % (kGroups * kInGroup);
  if (!is_last) return {};
  const HipLibrary& library = work_.library();
  if (library.table().hipEventRecord(group.event, stream) != hip::kSuccess) [[unlikely]]
    return library.wait_for(stream);
  group.in_use = true;
  return {};
}

void HostValues::release() noexcept {
  const HipTable& hip = work_.library().table();
  for (Group& one : groups_) {
    if (one.event != nullptr) hip.hipEventDestroy(one.event);
    one = {};
  }
  if (memory_ != nullptr) hip.hipHostFree(std::exchange(memory_, nullptr));
  next_ = 0;
}

}  // namespace gfxgraph::replayer
