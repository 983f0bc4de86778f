#include "emulator/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace gfxgraph::emulator {

const Region* RegionTable::find(uint64_t address) const noexcept {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](uint64_t a, const Region& r) { return a < r.address; });
  if (after == regions_.begin()) return nullptr;
  const Region& region = *std::prev(after);
  return region.contains(address, 1) ? &region : nullptr;
}

const Region* RegionTable::nearest(uint64_t address) const noexcept {
  if (regions_.empty()) return nullptr;
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](uint64_t a, const Region& r) { return a < r.address; });
  if (after == regions_.begin()) return &*after;
  const Region& before = *std::prev(after);
  if (after == regions_.end()) return &before;
  const uint64_t past = address - before.address;
  const uint64_t distance_before = past < before.mapped_bytes ? 0 : past - before.mapped_bytes;
  return distance_before <= after->address - address ? &before : &*after;
}

struct MemoryMap::Impl {
  mutable std::mutex mutex;
  std::shared_ptr<const RegionTable> table = std::make_shared<RegionTable>(std::vector<Region>());
  std::atomic<uint64_t> generation{0};
};

MemoryMap::MemoryMap() : impl_(std::make_shared<Impl>()) {}

Result<void> MemoryMap::add(Region region) {
  if (region.requested_bytes == 0 || region.mapped_bytes < region.requested_bytes ||
      region.host == nullptr)
    return fail(
        Status::kInvalidArgument,
        fmt::format("memory map: region at {:#x} has {} requested and {} mapped bytes at host {}",
                    region.address, region.requested_bytes, region.mapped_bytes,
                    static_cast<const void*>(region.host)));
  if (region.mapped_bytes - 1 > UINT64_MAX - region.address)
    return fail(Status::kInvalidArgument,
                fmt::format("memory map: region at {:#x} of {} bytes wraps the address space",
                            region.address, region.mapped_bytes));
  const std::scoped_lock lock(impl_->mutex);
  const std::vector<Region>& old = impl_->table->regions();
  auto position = std::upper_bound(old.begin(), old.end(), region.address,
                                   [](uint64_t a, const Region& r) { return a < r.address; });
  const bool hits_before =
      position != old.begin() &&
      region.address - std::prev(position)->address < std::prev(position)->mapped_bytes;
  const bool hits_after =
      position != old.end() && position->address - region.address < region.mapped_bytes;
  if (hits_before || hits_after) {
    const Region& other = hits_before ? *std::prev(position) : *position;
    return fail(
        Status::kInvalidArgument,
        fmt::format("memory map: region at {:#x} of {} bytes overlaps the one at {:#x} of {} bytes",
                    region.address, region.mapped_bytes, other.address, other.mapped_bytes));
  }
  std::vector<Region> regions;
  regions.reserve(old.size() + 1);
  regions.insert(regions.end(), old.begin(), position);
  regions.push_back(std::move(region));
  regions.insert(regions.end(), position, old.end());
  impl_->table = std::make_shared<RegionTable>(std::move(regions));
  impl_->generation.fetch_add(1, std::memory_order_release);
  return {};
}

Result<void> MemoryMap::remove(uint64_t address) {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<Region> regions = impl_->table->regions();
  auto position = std::find_if(regions.begin(), regions.end(),
                               [address](const Region& r) { return r.address == address; });
  if (position == regions.end())
    return fail(Status::kNotFound, fmt::format("memory map: no region starts at {:#x}", address));
  regions.erase(position);
  impl_->table = std::make_shared<RegionTable>(std::move(regions));
  impl_->generation.fetch_add(1, std::memory_order_release);
  return {};
}

std::shared_ptr<const RegionTable> MemoryMap::snapshot() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->table;
}

uint64_t MemoryMap::generation() const noexcept {
  return impl_->generation.load(std::memory_order_acquire);
}

}  // namespace gfxgraph::emulator
