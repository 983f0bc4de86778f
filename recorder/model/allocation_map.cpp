#include "recorder/model/allocation_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gfxgraph::recorder {
std::string describe(const Allocation& allocation) {
  std::string text = fmt::format("buffer #{} ({}, {} bytes", allocation.id,
                                 allocation_kind_name(allocation.kind), allocation.size_bytes);
  if (!allocation.name.empty()) {
    text += fmt::format(", \"{}\"", allocation.name);
  } else if (!allocation.symbol.empty()) {
    text += ", " + allocation.symbol;
  }
  return text + ")";
}

void ByteRanges::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto at = ends_.upper_bound(begin);
  if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
  while (at != ends_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ends_.erase(at);
  }
  ends_.emplace_hint(at, begin, end);
}

bool ByteRanges::overlap(uint64_t begin, uint64_t end) const noexcept {
  const auto behind = ends_.lower_bound(end);
  return begin < end && behind != ends_.begin() && std::prev(behind)->second > begin;
}

std::vector<std::shared_ptr<Allocation>> AllocationMap::insert(
    std::shared_ptr<Allocation> allocation) {
  const uint64_t begin = allocation->address;
  const uint64_t end = begin + allocation->size_bytes;
  std::vector<std::shared_ptr<Allocation>> replaced;
  for (const Range& range : ranges_) {
    if (range.begin < end && begin < range.end) replaced.push_back(range.allocation);
  }
  for (const std::shared_ptr<Allocation>& old : replaced) remove(old->address);
  const auto place =
      std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                       [](const Range& r, uint64_t value) { return r.begin < value; });
  if (allocation->host_visible()) host_.push_back(allocation);
  const auto know = [this](uint64_t first, uint64_t last) {
    for (uint64_t upper = first >> 32; upper <= last >> 32 && upper < known_uppers_.size();
         ++upper) {
      known_uppers_.set(upper);
      known_high_bytes_.set(upper >> 8);
    }
  };
  know(begin, end);
  if (allocation->has_two_addresses()) {
    ++aliases_;
    know(allocation->host_address, allocation->host_address + allocation->size_bytes);
  }
  ranges_.insert(place, Range{begin, end, std::move(allocation)});
  ++generation_;
  return replaced;
}

std::vector<AllocationMap::Range>::const_iterator AllocationMap::first_behind(
    uint64_t address) const noexcept {
  return std::upper_bound(ranges_.begin(), ranges_.end(), address,
                          [](uint64_t value, const Range& r) { return value < r.begin; });
}

const Allocation* AllocationMap::nearest(uint64_t address) const noexcept {
  const auto first = first_behind(address);
  auto next = first;
  while (next != ranges_.end() && !next->allocation->is_memory()) ++next;
  auto before = first;
  while (before != ranges_.begin() && !std::prev(before)->allocation->is_memory()) --before;
  const Allocation* const above = next == ranges_.end() ? nullptr : next->allocation.get();
  const Allocation* const below =
      before == ranges_.begin() ? nullptr : std::prev(before)->allocation.get();
  if (above == nullptr || below == nullptr) return above == nullptr ? below : above;
  return below->distance(address) < above->distance(address) ? below : above;
}

[[gnu::hot]] Allocation* AllocationMap::find(uint64_t address) const noexcept {
  auto next = first_behind(address);
  if (next == ranges_.begin()) return nullptr;
  --next;
  return address <= next->end ? next->allocation.get() : nullptr;
}

Allocation* AllocationMap::find_host(uint64_t address) const noexcept {
  for (const std::shared_ptr<Allocation>& allocation : host_) {
    if (address >= allocation->host_address &&
        address - allocation->host_address < allocation->size_bytes) {
      return allocation.get();
    }
  }
  return nullptr;
}

const Allocation* AllocationMap::find_alias(uint64_t address) const noexcept {
  if (aliases_ != 0) {
    for (const std::shared_ptr<Allocation>& allocation : host_) {
      if (allocation->has_two_addresses() &&
          address - allocation->host_address < allocation->size_bytes)
        return allocation.get();
    }
  }
  return nullptr;
}

std::shared_ptr<Allocation> AllocationMap::find_begin(uint64_t address) const noexcept {
  for (const std::shared_ptr<Allocation>& allocation : host_) {
    if (allocation->host_address == address) return allocation;
  }
  const auto place =
      std::lower_bound(ranges_.begin(), ranges_.end(), address,
                       [](const Range& r, uint64_t value) { return r.begin < value; });
  if (place == ranges_.end() || place->begin != address) return nullptr;
  return place->allocation;
}

std::shared_ptr<Allocation> AllocationMap::find_freed(uint64_t address) const noexcept {
  if (std::shared_ptr<Allocation> found = find_begin(address)) return found;
  const auto freed = [](const Allocation& one) {
    return one.is_memory() && !one.array && one.kind != format::AllocationKind::kModuleGlobal;
  };
  for (const std::shared_ptr<Allocation>& one : host_) {
    if (freed(*one) && address - one->host_address < one->size_bytes) return one;
  }
  const auto next = first_behind(address);
  if (next == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(next);
  return address < range.end && freed(*range.allocation) ? range.allocation : nullptr;
}

void AllocationMap::retire(const Range& range) {
  // Earlier allocations at these addresses keep the parts that the new one does not cover.
  std::vector<Range> pieces = {range};
  std::erase_if(retired_, [&](const Range& old) {
    if (old.begin >= range.end || range.begin >= old.end) return false;
    if (old.begin < range.begin) pieces.push_back({old.begin, range.begin, old.allocation});
    if (old.end > range.end) pieces.push_back({range.end, old.end, old.allocation});
    return true;
  });
  for (Range& piece : pieces) {
    const auto place =
        std::lower_bound(retired_.begin(), retired_.end(), piece.begin,
                         [](const Range& r, uint64_t value) { return r.begin < value; });
    retired_.insert(place, std::move(piece));
  }
}

const Allocation* AllocationMap::find_live_or_freed(uint64_t address) const noexcept {
  const Allocation* const live = find(address);
  if (live != nullptr && address < live->address + live->size_bytes) return live;
  auto next = std::upper_bound(retired_.begin(), retired_.end(), address,
                               [](uint64_t value, const Range& r) { return value < r.begin; });
  if (next == retired_.begin()) return live;
  --next;
  return address < next->end ? next->allocation.get() : live;
}

std::vector<format::AllocationId> AllocationMap::freed_within(uint64_t begin, uint64_t end) const {
  std::vector<format::AllocationId> found;
  // Retired ranges do not overlap, so they are sorted by their ends as well.
  auto at = std::ranges::upper_bound(retired_, begin, {}, &Range::end);
  for (; at != retired_.end() && at->begin < end; ++at) found.push_back(at->allocation->id);
  return found;
}

std::shared_ptr<Allocation> AllocationMap::remove(uint64_t address) {
  std::shared_ptr<Allocation> found = find_begin(address);
  if (!found) return nullptr;
  for (const Range& range : ranges_) {
    if (range.allocation == found) retire(range);
  }
  std::erase_if(ranges_, [&](const Range& range) { return range.allocation == found; });
  std::erase(host_, found);
  if (found->has_two_addresses()) --aliases_;
  ++generation_;
  return found;
}

void AllocationMap::number_anew(const std::function<void(Allocation&, bool live)>& number) {
  for (const Range& range : ranges_) number(*range.allocation, true);
  for (const Range& range : retired_) number(*range.allocation, false);
  ++generation_;
}

std::vector<std::shared_ptr<Allocation>> AllocationMap::all() const {
  std::vector<std::shared_ptr<Allocation>> result;
  result.reserve(ranges_.size());
  for (const Range& range : ranges_) result.push_back(range.allocation);
  return result;
}

}  // namespace gfxgraph::recorder
