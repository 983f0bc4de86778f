// Where the model has arrays. Kernels and copies know no address of an array, but all else here
// goes by address: each array gets some that no device has.
#pragma once

#include <cstdint>
#include <map>

#include "recorder/handle.h"

namespace gfxgraph::recorder {

class ArrayPlaces {
 public:
  // The address of a new array. Never given out twice: words of other programs' data that happen to
  // look like it would need the upper bits, which are neither of an address nor of small numbers.
  uint64_t begin(Handle array, uint64_t size_bytes) {
    const uint64_t address = next_;
    next_ += (size_bytes + 2 * kGapBytes) / kGapBytes * kGapBytes;
    places_[array] = address;
    return address;
  }
  // 0: unknown.
  uint64_t find(Handle array) const {
    const auto found = places_.find(array);
    return found == places_.end() ? 0 : found->second;
  }
  void put_back(Handle array, uint64_t address) { places_[array] = address; }
  void forget(Handle array) { places_.erase(array); }
  void clear() { places_.clear(); }

 private:
  static constexpr uint64_t kGapBytes = 4096;
  std::map<Handle, uint64_t> places_;
  uint64_t next_ = UINT64_C(0xa77a) << 48;
};

}  // namespace gfxgraph::recorder
