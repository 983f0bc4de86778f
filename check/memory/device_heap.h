// The check's own heap for device-side malloc and free, so that it knows every block. Blocks
// outlive launches; addresses are never reused.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/result.h"
#include "check/budget.h"
#include "check/memory/device_bytes.h"
#include "check/memory/device_memory.h"
#include "check/report/finding.h"

namespace gfxgraph::check {

// Thread-safe after create(). The budget and the memory must outlive this.
class DeviceHeap {
 public:
  // Region::tag of the heap's memory.
  static constexpr uint64_t kTag = uint64_t{1} << 62;

  explicit DeviceHeap(Budget& budget) : budget_(budget) {}
  // Reserves addresses. Call at most once.
  Result<void> create(DeviceMemory& memory);
  bool exists() const { return begin_ != 0; }
  bool holds(uint64_t address) const { return address - begin_ < size_; }

  // The result of malloc; 0: out of memory. `pc`: address of the call.
  uint64_t allocate(uint64_t size_bytes, uint64_t pc, uint64_t alignment = 16);
  enum class Freed : uint8_t { kDone, kTwice, kNoBlock };
  // Frees a block. `before`: for kTwice, the address of the first call to free.
  Freed release(uint64_t address, uint64_t pc, uint64_t& before);

  enum class Access : uint8_t { kInside, kPast, kFreed };
  // Whether an access is within a live block, (partly) past one, or in a freed block.
  Access judge(uint64_t address, uint64_t size_bytes) const;

  struct Block {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint64_t allocated_at = 0;  // device addresses of the calls; 0: unknown
    uint64_t freed_at = 0;
    bool freed = false;
  };
  // The block that holds an address or is nearest to it. Empty if it was freed too long ago.
  std::optional<Block> nearest(uint64_t address) const;

 private:
  // Number of freed blocks that are kept.
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

// The block as a NearestBuffer of a report.
NearestBuffer describe(const DeviceHeap::Block& block, uint64_t address);

}  // namespace gfxgraph::check
