// Memory that kernels reach at two addresses: the device's and the host's of registered memory.
// What a tool knows of the bytes is stored under the first one.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "format/trace.h"

namespace gfxgraph::check {

// `kChunkBytes`: the tool keeps its data in chunks, so addresses are translated a chunk at a time.
// Needs room for each allocation, not for its bytes. Not thread-safe.
template <uint64_t kChunkBytes>
class SecondAddresses {
 public:
  // From now on the bytes from `second` on are those from `first` on. False: chunks cannot tell,
  // because the distance is not a multiple of a chunk, or because a chunk had another first address
  // before.
  bool add(uint64_t second, uint64_t first, uint64_t bytes) {
    if (bytes == 0) return true;
    if ((second - first) % kChunkBytes != 0) return false;
    const Chunks one = chunks_of(second, bytes);
    const uint64_t distance = first / kChunkBytes - one.begin;
    const bool fine = cut(one, distance);
    ranges_[one.begin] = {one.last, distance};
    return fine;
  }
  // Other memory begins there.
  void remove(uint64_t address, uint64_t bytes) {
    if (!ranges_.empty() && bytes != 0) cut(chunks_of(address, bytes), 0);
  }
  // The number of the chunk under which the data of chunk `number` is stored.
  uint64_t chunk(uint64_t number) const {
    if (ranges_.empty()) [[likely]]
      return number;
    const auto next = ranges_.upper_bound(number);
    if (next == ranges_.begin()) return number;
    const Range& range = std::prev(next)->second;
    return number <= range.last ? number + range.distance : number;
  }
  uint64_t address(uint64_t address) const {
    return chunk(address / kChunkBytes) * kChunkBytes + address % kChunkBytes;
  }

 private:
  struct Chunks {
    uint64_t begin = 0, last = 0;
  };
  struct Range {
    uint64_t last = 0;
    uint64_t distance = 0;  // to the first address, in chunks, modulo 2^64
  };
  static Chunks chunks_of(uint64_t address, uint64_t bytes) {
    return {address / kChunkBytes, (address + (bytes - 1)) / kChunkBytes};
  }
  // Leaves none of these chunks in a range. Whether all that were had this distance.
  bool cut(const Chunks& away, uint64_t distance) {
    bool all = true;
    auto at = ranges_.upper_bound(away.begin);
    if (at != ranges_.begin()) --at;
    while (at != ranges_.end() && at->first <= away.last) {
      const auto [begin, range] = *at;
      if (range.last < away.begin) {
        ++at;
        continue;
      }
      all &= range.distance == distance;
      at = ranges_.erase(at);
      if (begin < away.begin) ranges_[begin] = {away.begin - 1, range.distance};
      if (range.last > away.last) ranges_[away.last + 1] = range;
    }
    return all;
  }

  std::map<uint64_t, Range> ranges_;  // of second addresses, by their first chunk
};

// The second address of an allocation; 0: it has none.
inline uint64_t second_address(const format::AllocationBegin& allocation) {
  const bool both = host_visible(allocation) &&
                    allocation.kind != format::AllocationKind::kModuleGlobal &&
                    allocation.host_address != allocation.recorded_address;
  return both ? allocation.host_address : 0;
}

}  // namespace gfxgraph::check
