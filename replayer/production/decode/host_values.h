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

// Pinned memory for runs in flight, which follow each other. Not thread-safe.
class HostValues {
 public:
  // An event costs more than all the rest, so there is one behind the last place of each group: its
  // places are used again when that has ended.
  static constexpr size_t kGroups = 2;
  static constexpr size_t kInGroup = 4;
  struct Place {
    int32_t* lengths = nullptr;
    int32_t* block_table = nullptr;
  };

  HostValues(PoolWork& work, uint64_t rows) : work_(work), rows_(rows) {}
  ~HostValues() { release(); }
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  // The next place, with the values of a run of `size` rows. Waits for the runs that used its
  // group.
  Result<Place> place(const DecodeValues& values, uint64_t size);
  // The run that uses it was submitted, perhaps in part.
  Result<void> submitted(hip::Stream stream);
  // No work may use them any more.
  void release() noexcept;

 private:
  struct Group {
    hip::Event event = nullptr;
    bool in_use = false;  // the event is recorded
  };
  Result<void> allocate();

  PoolWork& work_;
  const uint64_t rows_;
  int32_t* memory_ = nullptr;  // of all places
  std::array<Group, kGroups> groups_;
  size_t next_ = 0;  // place
};

}  // namespace gfxgraph::replayer
