#include "pointers/target_map.h"

#include <algorithm>
#include <iterator>

namespace gfxgraph::pointers {

std::vector<std::shared_ptr<Target>> TargetMap::insert(std::shared_ptr<Target> target) {
  const uint64_t begin = target->address;
  const uint64_t end = begin + target->size_bytes;
  std::vector<std::shared_ptr<Target>> replaced;
  for (const Range& range : ranges_) {
    if (range.begin < end && begin < range.end) replaced.push_back(range.target);
  }
  for (const std::shared_ptr<Target>& old : replaced) remove(old->address);
  const auto place =
      std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                       [](const Range& r, uint64_t value) { return r.begin < value; });
  if (target->host_visible()) host_.push_back(target);
  const auto know = [this](uint64_t first, uint64_t last) {
    for (uint64_t upper = first >> 32; upper <= last >> 32 && upper < known_uppers_.size();
         ++upper) {
      known_uppers_.set(upper);
      known_high_bytes_.set(upper >> 8);
    }
  };
  know(begin, end);
  if (target->has_two_addresses()) {
    const uint64_t host = target->host_address;
    know(host, host + target->size_bytes);
    aliases_.insert(std::ranges::upper_bound(aliases_, host, {}, &Range::begin),
                    Range{host, host + target->size_bytes, target});
  }
  ranges_.insert(place, Range{begin, end, std::move(target)});
  ++generation_;
  return replaced;
}

std::vector<TargetMap::Range>::const_iterator TargetMap::first_behind(
    uint64_t address) const noexcept {
  return std::upper_bound(ranges_.begin(), ranges_.end(), address,
                          [](uint64_t value, const Range& r) { return value < r.begin; });
}

const Target* TargetMap::nearest(uint64_t address) const noexcept {
  const auto first = first_behind(address);
  auto next = first;
  while (next != ranges_.end() && !next->target->is_memory()) ++next;
  auto before = first;
  while (before != ranges_.begin() && !std::prev(before)->target->is_memory()) --before;
  const Target* const above = next == ranges_.end() ? nullptr : next->target.get();
  const Target* const below = before == ranges_.begin() ? nullptr : std::prev(before)->target.get();
  if (above == nullptr || below == nullptr) return above == nullptr ? below : above;
  return below->distance(address) < above->distance(address) ? below : above;
}

[[gnu::hot]] Target* TargetMap::find(uint64_t address) const noexcept {
  auto next = first_behind(address);
  if (next == ranges_.begin()) return nullptr;
  --next;
  return address <= next->end ? next->target.get() : nullptr;
}

Target* TargetMap::find_host(uint64_t address) const noexcept {
  for (const std::shared_ptr<Target>& target : host_) {
    if (address >= target->host_address && address - target->host_address < target->size_bytes) {
      return target.get();
    }
  }
  return nullptr;
}

const Target* TargetMap::find_alias(uint64_t address) const noexcept {
  const auto next = std::ranges::upper_bound(aliases_, address, {}, &Range::begin);
  if (next == aliases_.begin()) return nullptr;
  const Range& range = *std::prev(next);
  return address <= range.end ? range.target.get() : nullptr;
}

std::shared_ptr<Target> TargetMap::find_begin(uint64_t address) const noexcept {
  for (const std::shared_ptr<Target>& target : host_) {
    if (target->host_address == address) return target;
  }
  const auto place =
      std::lower_bound(ranges_.begin(), ranges_.end(), address,
                       [](const Range& r, uint64_t value) { return r.begin < value; });
  if (place == ranges_.end() || place->begin != address) return nullptr;
  return place->target;
}

std::shared_ptr<Target> TargetMap::find_freed(uint64_t address) const noexcept {
  if (std::shared_ptr<Target> found = find_begin(address)) return found;
  const auto freed = [](const Target& one) {
    return one.is_memory() && !one.array && one.kind != format::AllocationKind::kModuleGlobal;
  };
  for (const std::shared_ptr<Target>& one : host_) {
    if (freed(*one) && address - one->host_address < one->size_bytes) return one;
  }
  const auto next = first_behind(address);
  if (next == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(next);
  return address < range.end && freed(*range.target) ? range.target : nullptr;
}

void TargetMap::retire(const Range& range) {
  // Earlier allocations at these addresses keep the parts that the new one does not cover.
  std::vector<Range> pieces = {range};
  std::erase_if(retired_, [&](const Range& old) {
    if (old.begin >= range.end || range.begin >= old.end) return false;
    if (old.begin < range.begin) pieces.push_back({old.begin, range.begin, old.target});
    if (old.end > range.end) pieces.push_back({range.end, old.end, old.target});
    return true;
  });
  for (Range& piece : pieces) {
    const auto place =
        std::lower_bound(retired_.begin(), retired_.end(), piece.begin,
                         [](const Range& r, uint64_t value) { return r.begin < value; });
    retired_.insert(place, std::move(piece));
  }
}

const Target* TargetMap::find_live_or_freed(uint64_t address) const noexcept {
  const Target* const live = find(address);
  if (live != nullptr && address < live->address + live->size_bytes) return live;
  auto next = std::upper_bound(retired_.begin(), retired_.end(), address,
                               [](uint64_t value, const Range& r) { return value < r.begin; });
  if (next == retired_.begin()) return live;
  --next;
  return address < next->end ? next->target.get() : live;
}

std::vector<format::AllocationId> TargetMap::freed_within(uint64_t begin, uint64_t end) const {
  std::vector<format::AllocationId> found;
  // Retired ranges do not overlap, so they are sorted by their ends as well.
  auto at = std::ranges::upper_bound(retired_, begin, {}, &Range::end);
  for (; at != retired_.end() && at->begin < end; ++at) found.push_back(at->target->id);
  return found;
}

bool TargetMap::registered_before(const Target& now) const {
  if (now.kind != format::AllocationKind::kHostRegistered) return false;
  auto at = std::ranges::upper_bound(retired_, now.address, {}, &Range::end);
  for (; at != retired_.end() && at->begin < now.address + now.size_bytes; ++at)
    if (at->target->kind == now.kind && at->target->in_memory) return true;
  return false;
}

std::shared_ptr<Target> TargetMap::remove(uint64_t address) {
  std::shared_ptr<Target> found = find_begin(address);
  if (!found) return nullptr;
  for (const Range& range : ranges_) {
    if (range.target == found) retire(range);
  }
  std::erase_if(ranges_, [&](const Range& range) { return range.target == found; });
  std::erase(host_, found);
  std::erase_if(aliases_, [&](const Range& range) { return range.target == found; });
  ++generation_;
  return found;
}

void TargetMap::number_anew(const std::function<void(Target&, bool live)>& number) {
  for (const Range& range : ranges_) number(*range.target, true);
  for (const Range& range : retired_) number(*range.target, false);
  ++generation_;
}

std::vector<std::shared_ptr<Target>> TargetMap::all() const {
  std::vector<std::shared_ptr<Target>> result;
  result.reserve(ranges_.size());
  for (const Range& range : ranges_) result.push_back(range.target);
  return result;
}

}  // namespace gfxgraph::pointers
