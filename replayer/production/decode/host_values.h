// Lengths and block tables of the host on their way to the buffers of a bucket.
#pragma once

#include <array>
#include <cstdint>

#include "replayer/production/pool_work.h"

namespace gfxgraph::replayer {

// Of a run of a decode pool (gfxgraph_decode_run_t).
struct DecodeValues {
  const int32_t* lengths = nullptr;
  const int32_t* block_table = nullptr;
  uint32_t columns = 0;  // of the block table
  bool on_device = false;
  uint64_t max_length = 0;
};

// Pinned memory for as many runs in flight as it has places. Not thread-safe.
class HostValues {
 public:
  static constexpr size_t kPlaces = 4;
  struct Place {
    int32_t* lengths = nullptr;  // of `rows`, then their block tables; null: not allocated yet
    int32_t* block_table = nullptr;
    hip::Event event = nullptr;  // behind the last run that used it
    bool in_use = false;
  };

  HostValues(PoolWork& work, uint64_t rows) : work_(work), rows_(rows) {}
  ~HostValues() { release(); }
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  // The next place, with the values of a run of `size` rows. Waits for the run that uses it.
  Result<Place*> place(const DecodeValues& values, uint64_t size);
  // The run that uses it was submitted, perhaps in part.
  Result<void> submitted(Place& place, hip::Stream stream);
  // No work may use them any more.
  void release() noexcept;

 private:
  Result<void> allocate(Place& place);

  PoolWork& work_;
  const uint64_t rows_;
  std::array<Place, kPlaces> places_;
  size_t next_ = 0;
};

}  // namespace gfxgraph::replayer
