#include "check/memory/freed_ranges.h"

#include <iterator>
#include <utility>

namespace gfxgraph::check {

void FreedRanges::add(NearestBuffer buffer) {
  const uint64_t begin = buffer.address;
  const uint64_t end = begin + buffer.size_bytes;
  if (end <= begin) return;
  auto at = ranges_.lower_bound(begin);
  if (at != ranges_.begin()) {
    Range& before = std::prev(at)->second;
    if (before.end > end) ranges_[end] = before;
    if (before.end > begin) before.end = begin;
    at = ranges_.lower_bound(begin);
  }
  while (at != ranges_.end() && at->first < end) {
    if (at->second.end > end) ranges_[end] = at->second;
    at = ranges_.erase(at);
  }
  ranges_[begin] = {end, std::move(buffer)};
  if (ranges_.size() > kMost) ranges_.erase(ranges_.begin());
}

const NearestBuffer* FreedRanges::find(uint64_t address) const noexcept {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  return address < range.end ? &range.buffer : nullptr;
}

}  // namespace gfxgraph::check
