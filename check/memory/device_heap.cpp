#include "check/memory/device_heap.h"

#include <algorithm>
#include <string>

#include "base/checked.h"

namespace gfxgraph::check {
namespace {

// Reserves addresses, not memory; fewer if the process has a limit.
constexpr uint64_t kMostHeapBytes = uint64_t{64} << 30;
constexpr uint64_t kLeastBytes = uint64_t{256} << 20;
// Below every recorded buffer's neighbourhood.
constexpr uint64_t kHeapAddress = uint64_t{0x2e0000000000};
constexpr uint64_t kBlockAlignment = 16;
// Unowned gap between blocks; larger after large blocks, whose indices reach further.
constexpr uint64_t kLeastGap = 64;
constexpr uint64_t kMostGap = 4096;
// What a block costs this process in addition to its bytes.
constexpr uint64_t kBookBytes = 128;

uint64_t with_gap(uint64_t size) { return size + std::clamp(size / 2, kLeastGap, kMostGap); }

}  // namespace

Result<void> DeviceHeap::create(DeviceMemory& memory) {
  uint64_t size = kMostHeapBytes;
  Result<DeviceBytes*> created = memory.add_heap(kHeapAddress, size, kTag);
  while (!created && size > kLeastBytes) {
    size /= 4;
    created = memory.add_heap(kHeapAddress, size, kTag);
  }
  GFXGRAPH_ASSIGN_OR_RETURN(bytes_, std::move(created));
  begin_ = kHeapAddress;
  next_ = begin_ + kMostGap;
  size_ = size;
  return {};
}

uint64_t DeviceHeap::allocate(uint64_t size_bytes, uint64_t pc, uint64_t alignment) {
  if (size_bytes == 0 || size_bytes > size_ || size_bytes > budget_.memory_limit_bytes() / 2)
    return 0;
  const std::unique_lock lock(mutex_);
  alignment = std::max(alignment, kBlockAlignment);
  const uint64_t address = (next_ + alignment - 1) / alignment * alignment;
  const uint64_t end = address + with_gap(size_bytes);
  if (end > begin_ + size_) return 0;
  if (!budget_.take_memory(end - address + kBookBytes, "a block of malloc in a kernel")) return 0;
  next_ = end;
  blocks_[address] = {address, size_bytes, pc, 0, false};
  return address;
}

DeviceHeap::Freed DeviceHeap::release(uint64_t address, uint64_t pc, uint64_t& before) {
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return Freed::kNoBlock;
  Block& block = found->second;
  if (block.freed) {
    before = block.freed_at;
    return Freed::kTwice;
  }
  block.freed = true;
  block.freed_at = pc;
  // Its addresses are not used again, so pages that it shares with other blocks stay counted.
  budget_.give_memory(bytes_->discard(address - begin_, with_gap(block.size_bytes)));
  freed_.push_back(address);
  if (freed_.size() > kMostFreed) retire();
  return Freed::kDone;
}

void DeviceHeap::retire() {
  blocks_.erase(freed_.front());
  freed_.pop_front();
  budget_.give_memory(kBookBytes);
}

const DeviceHeap::Block* DeviceHeap::at_or_before(uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  return after == blocks_.begin() ? nullptr : &std::prev(after)->second;
}

DeviceHeap::Access DeviceHeap::judge(uint64_t address, uint64_t size_bytes) const {
  const std::shared_lock lock(mutex_);
  const Block* const block = at_or_before(address);
  if (block == nullptr || address - block->address >= block->size_bytes) return Access::kPast;
  if (block->freed) return Access::kFreed;
  return range_fits(address - block->address, size_bytes, block->size_bytes) ? Access::kInside
                                                                             : Access::kPast;
}

std::optional<DeviceHeap::Block> DeviceHeap::nearest(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const Block* const before = at_or_before(address);
  const auto after = blocks_.upper_bound(address);
  if (before == nullptr && after == blocks_.end()) return std::nullopt;
  if (before == nullptr) return after->second;
  const uint64_t end = before->address + before->size_bytes;
  if (after == blocks_.end() || address < end || address - end <= after->first - address)
    return *before;
  return after->second;
}

NearestBuffer describe(const DeviceHeap::Block& block, uint64_t address) {
  NearestBuffer result;
  result.name = "a block of malloc";
  result.address = block.address;
  result.size_bytes = result.mapped_bytes = block.size_bytes;
  result.freed = block.freed && address - block.address < block.size_bytes;
  result.distance_bytes = address < block.address
                              ? static_cast<int64_t>(address - block.address)
                              : static_cast<int64_t>(address - block.address - block.size_bytes);
  return result;
}

}  // namespace gfxgraph::check
