#include "emulator/memory/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace gfxgraph::emulator {

namespace {

constexpr size_t kMaxPart = 64;

auto first_after(const std::vector<Region>& part, uint64_t address) {
  return std::upper_bound(part.begin(), part.end(), address,
                          [](uint64_t a, const Region& r) { return a < r.address; });
}

Result<void> may_be_added(const RegionTable& table, const Region& region) {
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
  const Region* const last = table.after(region.address);
  const Region* const other =
      last != nullptr && last->address - region.address < region.mapped_bytes
          ? last
          : table.find(region.address);
  if (other == nullptr) return {};
  return fail(
      Status::kInvalidArgument,
      fmt::format("memory map: region at {:#x} of {} bytes overlaps the one at {:#x} of {} bytes",
                  region.address, region.mapped_bytes, other->address, other->mapped_bytes));
}

}  // namespace

size_t RegionTable::part_of(uint64_t address) const noexcept {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), address);
  return after == begins_.begin() ? parts_.size()
                                  : static_cast<size_t>(after - begins_.begin()) - 1;
}

const Region* RegionTable::at_or_before(uint64_t address) const noexcept {
  const size_t part = part_of(address);
  return part == parts_.size() ? nullptr : &*std::prev(first_after(*parts_[part], address));
}

const Region* RegionTable::find(uint64_t address) const noexcept {
  const Region* const region = at_or_before(address);
  return region != nullptr && region->contains(address, 1) ? region : nullptr;
}

const Region* RegionTable::after(uint64_t address) const noexcept {
  const size_t part = part_of(address);
  if (part == parts_.size()) return parts_.empty() ? nullptr : &parts_.front()->front();
  const auto next = first_after(*parts_[part], address);
  if (next != parts_[part]->end()) return &*next;
  return part + 1 == parts_.size() ? nullptr : &parts_[part + 1]->front();
}

const Region* RegionTable::nearest(uint64_t address) const noexcept {
  const Region* const before = at_or_before(address);
  const Region* const behind = after(address);
  if (before == nullptr || behind == nullptr) return before == nullptr ? behind : before;
  const uint64_t past = address - before->address;
  const uint64_t distance_before = past < before->mapped_bytes ? 0 : past - before->mapped_bytes;
  return distance_before <= behind->address - address ? before : behind;
}

void RegionTable::insert_part(size_t at, Part part) {
  const auto offset = static_cast<std::ptrdiff_t>(at);
  begins_.insert(begins_.begin() + offset, part.front().address);
  parts_.insert(parts_.begin() + offset, std::make_shared<const Part>(std::move(part)));
}

RegionTable RegionTable::with(Region region) const {
  RegionTable result = *this;
  if (parts_.empty()) {
    result.insert_part(0, Part{std::move(region)});
    return result;
  }
  size_t at = part_of(region.address);
  if (at == parts_.size()) at = 0;
  Part part = *parts_[at];
  part.insert(first_after(part, region.address), std::move(region));
  if (part.size() > kMaxPart) {
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    result.insert_part(at + 1, Part(middle, part.end()));
    part.erase(middle, part.end());
  }
  result.begins_[at] = part.front().address;
  result.parts_[at] = std::make_shared<const Part>(std::move(part));
  return result;
}

RegionTable RegionTable::without(uint64_t address) const {
  RegionTable result = *this;
  const size_t at = part_of(address);
  Part part = *parts_[at];
  part.erase(std::prev(first_after(part, address)));
  if (part.empty()) {
    const auto offset = static_cast<std::ptrdiff_t>(at);
    result.begins_.erase(result.begins_.begin() + offset);
    result.parts_.erase(result.parts_.begin() + offset);
  } else {
    result.begins_[at] = part.front().address;
    result.parts_[at] = std::make_shared<const Part>(std::move(part));
  }
  return result;
}

struct MemoryMap::Impl {
  mutable std::mutex mutex;
  std::shared_ptr<const RegionTable> table = std::make_shared<RegionTable>();
  std::atomic<uint64_t> generation{0};
};

MemoryMap::MemoryMap() : impl_(std::make_shared<Impl>()) {}

Result<void> MemoryMap::add(Region region) {
  std::vector<Region> added;
  added.push_back(std::move(region));
  return replace({}, std::move(added));
}

Result<void> MemoryMap::remove(uint64_t address) { return replace({&address, 1}, {}); }

Result<void> MemoryMap::replace(std::span<const uint64_t> removed, std::vector<Region> added) {
  const std::scoped_lock lock(impl_->mutex);
  RegionTable table = *impl_->table;
  for (const uint64_t address : removed) {
    const Region* const region = table.find(address);
    if (region == nullptr || region->address != address)
      return fail(Status::kNotFound, fmt::format("memory map: no region starts at {:#x}", address));
    table = table.without(address);
  }
  for (Region& region : added) {
    GFXGRAPH_TRY(may_be_added(table, region));
    table = table.with(std::move(region));
  }
  impl_->table = std::make_shared<RegionTable>(std::move(table));
  impl_->generation.fetch_add(1, std::memory_order_release);
  return {};
}

Result<void> MemoryMap::make_read_only(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return {};
  if (bytes - 1 > UINT64_MAX - address)
    return fail(
        Status::kInvalidArgument,
        fmt::format("memory map: {} bytes at {:#x} wrap the address space", bytes, address));
  const uint64_t last = address + (bytes - 1);
  const std::scoped_lock lock(impl_->mutex);
  RegionTable table = *impl_->table;
  const Region* next = table.find(address);
  if (next == nullptr) next = table.after(address);
  while (next != nullptr && next->address <= last) {
    const Region whole = *next;
    const uint64_t begin = std::max(address, whole.address) - whole.address;
    const uint64_t end = std::min(last - whole.address, whole.mapped_bytes - 1) + 1;
    table = table.without(whole.address);
    // The bytes that the program did not ask for, at the end, stay with what is before them.
    const uint64_t requested = whole.requested_bytes;
    const uint64_t cuts[] = {0, begin < requested ? begin : 0, end < requested ? end : requested,
                             requested};
    for (unsigned n = 0; n < 3; ++n) {
      if (cuts[n] == cuts[n + 1]) continue;
      Region part = whole;
      part.address += cuts[n];
      part.host += cuts[n];
      part.requested_bytes = cuts[n + 1] - cuts[n];
      part.mapped_bytes = (cuts[n + 1] == requested ? whole.mapped_bytes : cuts[n + 1]) - cuts[n];
      part.read_only = whole.read_only || n == 1;
      table = table.with(std::move(part));
    }
    next = table.after(whole.address + (whole.mapped_bytes - 1));
  }
  impl_->table = std::make_shared<RegionTable>(std::move(table));
  impl_->generation.fetch_add(1, std::memory_order_release);
  return {};
}

void MemoryMap::remove_all(uint64_t address, uint64_t bytes) {
  const std::scoped_lock lock(impl_->mutex);
  RegionTable table = *impl_->table;
  const Region* next = table.find(address);
  if (next == nullptr || next->address != address) next = table.after(address);
  while (next != nullptr && next->address - address < bytes) {
    const uint64_t begin = next->address;
    table = table.without(begin);
    next = table.after(begin);
  }
  impl_->table = std::make_shared<RegionTable>(std::move(table));
  impl_->generation.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const RegionTable> MemoryMap::snapshot() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->table;
}

uint64_t MemoryMap::generation() const noexcept {
  return impl_->generation.load(std::memory_order_acquire);
}

}  // namespace gfxgraph::emulator
