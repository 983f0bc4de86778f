#include "check/perf/access_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace gfxgraph::check {
namespace {

constexpr size_t kLaneCount = 32;
// Dwords that an access of 16 bytes at any address touches.
constexpr size_t kMostDwords = 5;

struct Bytes {
  uint64_t begin, end;
};

// Those of the active lanes, by address; each byte once.
class Ranges {
 public:
  explicit Ranges(const emulator::MemoryEvent& event) {
    for (uint32_t rest = event.exec & event.in_range; rest != 0; rest &= rest - 1) {
      const uint64_t at = event.address[std::countr_zero(rest)];
      ranges_[count_++] = {at, at + event.access_bytes};
    }
    lanes_ = static_cast<uint32_t>(count_);
    std::sort(ranges_.begin(), ranges_.begin() + static_cast<ptrdiff_t>(count_),
              [](const Bytes& a, const Bytes& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (size_t n = 0; n < count_; ++n) {
      if (kept != 0 && ranges_[n].begin <= ranges_[kept - 1].end)
        ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, ranges_[n].end);
      else
        ranges_[kept++] = ranges_[n];
    }
    count_ = kept;
  }
  uint32_t lanes() const { return lanes_; }
  std::span<const Bytes> all() const { return {ranges_.data(), count_}; }

 private:
  std::array<Bytes, kLaneCount> ranges_;
  size_t count_ = 0;
  uint32_t lanes_ = 0;
};

uint32_t ceiling(uint64_t value, uint64_t unit) {
  return static_cast<uint32_t>((value + unit - 1) / unit);
}

}  // namespace

AccessCost line_cost(const emulator::MemoryEvent& event) {
  const Ranges ranges(event);
  AccessCost cost;
  cost.lanes = ranges.lanes();
  uint64_t bytes = 0, last = UINT64_MAX;
  for (const Bytes& range : ranges.all()) {
    bytes += range.end - range.begin;
    uint64_t first = range.begin / kCacheLineBytes;
    const uint64_t final = (range.end - 1) / kCacheLineBytes;
    if (first == last) ++first;
    if (first > final) continue;
    cost.units += static_cast<uint32_t>(final - first + 1);
    last = final;
  }
  cost.least = ceiling(bytes, kCacheLineBytes);
  return cost;
}

AccessCost bank_cost(const emulator::MemoryEvent& event) {
  AccessCost cost;
  std::array<uint64_t, kLaneCount * kMostDwords> dwords;
  size_t count = 0;
  for (uint32_t rest = event.exec & event.in_range; rest != 0; rest &= rest - 1) {
    const uint64_t at = event.address[std::countr_zero(rest)];
    ++cost.lanes;
    for (uint64_t dword = at / 4; dword <= (at + event.access_bytes - 1) / 4; ++dword)
      dwords[count++] = dword;
  }
  const auto end = dwords.begin() + static_cast<ptrdiff_t>(count);
  if (event.kind != emulator::AccessKind::kAtomic) {
    std::sort(dwords.begin(), end);
    count = static_cast<size_t>(std::unique(dwords.begin(), end) - dwords.begin());
  }
  std::array<uint32_t, kLdsBanks> used = {};
  for (size_t n = 0; n < count; ++n) ++used[dwords[n] % kLdsBanks];
  cost.units = *std::ranges::max_element(used);
  cost.least = ceiling(count, kLdsBanks);
  return cost;
}

}  // namespace gfxgraph::check
