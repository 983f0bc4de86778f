#include "check/init/init_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace gfxgraph::check {

InitMemory::~InitMemory() { budget_.give_memory(taken_); }

Result<void> InitMemory::begin(uint64_t address, uint64_t bytes) {
  end(address);
  if (bytes == 0) return {};
  GFXGRAPH_TRY(budget_.take_memory(bytes / 8 + 1, "the record of written bytes (initcheck)"));
  taken_ += bytes / 8 + 1;
  Range& range = ranges_[address];
  range.address = address;
  range.reset(bytes);
  set_bounds();
  return {};
}

void InitMemory::end(uint64_t address) {
  const auto found = ranges_.find(address);
  if (found == ranges_.end()) return;
  const uint64_t bytes = found->second.bytes;
  origins_.erase(origins_.lower_bound(address), origins_.lower_bound(address + bytes));
  budget_.give_memory(bytes / 8 + 1);
  taken_ -= bytes / 8 + 1;
  ranges_.erase(found);
  set_bounds();
}

void InitMemory::set_bounds() {
  near_.fill(nullptr);
  low_ = high_ = 0;
  if (ranges_.empty()) return;
  low_ = ranges_.begin()->first;
  const Range& last = ranges_.rbegin()->second;
  high_ = last.address + last.bytes;
}

InitMemory::Range* InitMemory::search(uint64_t address) {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  Range& range = std::prev(after)->second;
  if (address - range.address >= range.bytes) return nullptr;
  return near_[(address >> 12) * 0x9E3779B97F4A7C15u >> 59] = &range;
}

void WrittenBytes::set(uint64_t from, uint64_t count, bool value) {
  while (count != 0) {
    const uint64_t shift = from % 64;
    const uint64_t here = std::min(64 - shift, count);
    const uint64_t mask = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << shift;
    uint64_t& word = written[from / 64];
    const auto before = static_cast<uint64_t>(std::popcount(word & mask));
    left = value ? left - (here - before) : left + before;
    word = value ? word | mask : word & ~mask;
    from += here;
    count -= here;
  }
}

uint64_t InitMemory::unwritten(uint64_t address, uint32_t bytes) {
  const Range* const range = find(address);
  const uint64_t all = bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
  if (range == nullptr) {
    // An access that begins before a buffer and ends in it is memcheck's.
    return 0;
  }
  const uint64_t from = address - range->address;
  const uint64_t inside = range->bytes - from;
  const uint64_t mine = inside >= 64 ? ~uint64_t{0} : (uint64_t{1} << inside) - 1;
  return ~range->bits(from) & all & mine;
}

uint64_t InitMemory::count_unwritten(uint64_t address, uint64_t bytes) {
  uint64_t count = 0;
  for (uint64_t n = 0; n < bytes; n += 64) {
    const auto here = static_cast<uint32_t>(std::min<uint64_t>(64, bytes - n));
    count += static_cast<uint64_t>(std::popcount(unwritten(address + n, here)));
  }
  return count;
}

void InitMemory::change(uint64_t address, uint64_t bytes, bool written) {
  for (uint64_t n = 0; n < bytes;) {
    Range* const range = find(address + n);
    if (range == nullptr) {
      // To the next range, if there is one.
      const auto after = ranges_.upper_bound(address + n);
      if (after == ranges_.end() || after->first - address >= bytes) return;
      n = after->first - address;
      continue;
    }
    const uint64_t from = address + n - range->address;
    const uint64_t count = std::min(range->bytes - from, bytes - n);
    range->set(from, count, written);
    n += count;
  }
}

void InitMemory::set_written(uint64_t address, uint64_t bytes) {
  change(address, bytes, true);
  if (!origins_.empty())
    origins_.erase(origins_.lower_bound(address & ~uint64_t{3}),
                   origins_.lower_bound(address + bytes));
}

uint32_t InitMemory::add_origin(const Origin& origin) {
  const auto [at, added] = store_of_.try_emplace({origin.place.launch, origin.pc, origin.computed},
                                                 static_cast<uint32_t>(stores_.size()));
  if (added) stores_.push_back(origin);
  return at->second;
}

void InitMemory::set_undefined(uint64_t address, uint64_t bytes, uint32_t origin) {
  constexpr size_t kMostOrigins = 1 << 20;
  change(address, bytes, false);
  for (uint64_t at = address & ~uint64_t{3}; at < address + bytes; at += 4)
    if (origins_.size() < kMostOrigins) origins_[at] = origin;
}

bool InitMemory::computed(uint64_t address, uint64_t bytes) const {
  for (auto at = origins_.lower_bound(address & ~uint64_t{3});
       at != origins_.end() && at->first < address + bytes; ++at)
    if (stores_[at->second].computed) return true;
  return false;
}

std::vector<const InitMemory::Origin*> InitMemory::origins(uint64_t address, uint64_t bytes) const {
  std::vector<const Origin*> result;
  uint32_t last = UINT32_MAX;
  for (auto at = origins_.lower_bound(address & ~uint64_t{3});
       at != origins_.end() && at->first < address + bytes; ++at) {
    if (at->second == last) continue;
    last = at->second;
    const Origin* const one = &stores_[last];
    if (std::ranges::find(result, one) == result.end()) result.push_back(one);
    if (result.size() == kMostOfRange) break;
  }
  return result;
}

void InitMemory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  const auto apart = [&](uint64_t address) { return address >= high_ || address + bytes <= low_; };
  if (apart(to) && apart(from)) return;
  // In the order of memmove: from the end if the source is before the target.
  for (uint64_t n = 0; n < bytes; ++n) {
    const uint64_t at = from < to ? bytes - 1 - n : n;
    const bool written = unwritten(from + at, 1) == 0;
    change(to + at, 1, written);
    if (written || origins_.empty()) continue;
    const auto one = origins_.find((from + at) & ~uint64_t{3});
    if (one != origins_.end()) origins_[(to + at) & ~uint64_t{3}] = one->second;
  }
}

}  // namespace gfxgraph::check
