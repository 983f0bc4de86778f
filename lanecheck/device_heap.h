// The heap behind malloc and free of device code: the check's own, so that it knows each block.
// Blocks outlive launches, and an address is never used again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/result.h"
#include "lanecheck/budget.h"
#include "lanecheck/device_bytes.h"
#include "lanecheck/device_memory.h"
#include "lanecheck/finding.h"

namespace gfxgraph::lanecheck {

// Thread-safe after create().
class DeviceHeap {
 public:
  // Region::tag of its memory.
  static constexpr uint64_t kTag = uint64_t{1} << 62;

  explicit DeviceHeap(Budget& budget) : budget_(budget) {}
  // Reserves addresses. At most once.
  Result<void> create(DeviceMemory& memory);
  bool exists() const { return begin_ != 0; }
  bool holds(uint64_t address) const { return address - begin_ < size_; }

  // What malloc returns; 0: there is no memory. `pc`: where it was called.
  uint64_t allocate(uint64_t size_bytes, uint64_t pc, uint64_t alignment = 16);
  enum class Freed : uint8_t { kDone, kTwice, kNoBlock };
  // `before`: where a block that is freed twice was freed first.
  Freed release(uint64_t address, uint64_t pc, uint64_t& before);

  enum class Access : uint8_t { kInside, kPast, kFreed };
  Access judge(uint64_t address, uint64_t size_bytes) const;

  struct Block {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t allocated_at = 0;  // device addresses of calls; 0: not known
    uint64_t freed_at = 0;
    bool freed = false;
  };
  // The block that holds an address, or is nearest to it. Nothing if it was freed long ago.
  std::optional<Block> nearest(uint64_t address) const;

 private:
  // Freed blocks that are remembered.
  static constexpr size_t kMostFreed = size_t{1} << 20;

  const Block* at_or_before(uint64_t address) const;
  void retire();

  Budget& budget_;
  DeviceBytes* bytes_ = nullptr;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  std::deque<uint64_t> freed_;  // oldest first
  uint64_t begin_ = 0;          // device addresses
  uint64_t size_ = 0;
  uint64_t next_ = 0;
};

// As reports print it.
NearestBuffer describe(const DeviceHeap::Block& block, uint64_t address);

}  // namespace gfxgraph::lanecheck
