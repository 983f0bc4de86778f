#include "recorder/objects/allocation_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "format/names.h"

namespace gfxgraph::recorder {

std::string describe(const Allocation& allocation) {
  std::string text = fmt::format("buffer #{} ({}, {} bytes", allocation.id,
                                 name_of(allocation.kind).key, allocation.size_bytes);
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
  if (follows_host_ && allocation->host_visible()) host_.push_back(allocation);
  std::vector<std::shared_ptr<Allocation>> replaced;
  for (std::shared_ptr<pointers::Target>& old : TargetMap::insert(std::move(allocation))) {
    replaced.push_back(std::static_pointer_cast<Allocation>(std::move(old)));
    std::erase(host_, replaced.back());
  }
  return replaced;
}

std::shared_ptr<Allocation> AllocationMap::remove(uint64_t address) {
  auto found = std::static_pointer_cast<Allocation>(TargetMap::remove(address));
  std::erase(host_, found);
  return found;
}

void AllocationMap::follow_host(bool follow) {
  if (std::exchange(follows_host_, follow) == follow) return;
  host_.clear();
  if (!follow) return;
  for (std::shared_ptr<Allocation>& one : all()) {
    // Each has one place in it, whatever ranges of addresses it has.
    if (one->host_visible() && std::ranges::find(host_, one) == host_.end())
      host_.push_back(std::move(one));
  }
}

void AllocationMap::number_anew(const std::function<void(Allocation&, bool live)>& number) {
  TargetMap::number_anew(
      [&](pointers::Target& target, bool live) { number(static_cast<Allocation&>(target), live); });
}

std::vector<std::shared_ptr<Allocation>> AllocationMap::all() const {
  std::vector<std::shared_ptr<Allocation>> found;
  for (const std::shared_ptr<pointers::Target>& target : TargetMap::all())
    found.push_back(std::static_pointer_cast<Allocation>(target));
  return found;
}

}  // namespace gfxgraph::recorder
