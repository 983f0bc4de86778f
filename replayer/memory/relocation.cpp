#include "replayer/memory/relocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace gfxgraph::replayer {

uint64_t load_word(std::span<const std::byte> bytes, uint64_t offset) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

void store_word(std::span<std::byte> bytes, uint64_t offset, uint64_t word) noexcept {
  std::memcpy(bytes.data() + offset, &word, sizeof(word));
}

AddressMap::AddressMap(std::vector<Placement> placements, bool keep_ambiguous)
    : placements_(std::move(placements)), keep_ambiguous_(keep_ambiguous) {
  ranges_.reserve(2 * placements_.size());  // all that place() can need
  sort_ranges();
}

void AddressMap::place(format::AllocationId id, uint64_t device, uint64_t host) noexcept {
  placements_[id - 1].replay_device = device;
  placements_[id - 1].replay_host = host;
  sort_ranges();
}

void AddressMap::sort_ranges() {
  ranges_.clear();
  for (const Placement& place : placements_) {
    if (place.replay_device != 0)
      ranges_.push_back({place.replay_device, place.size_bytes, place.recorded_device});
    if (place.replay_host != 0 && place.recorded_host != 0 &&
        (place.replay_host != place.replay_device || place.recorded_host != place.recorded_device))
      ranges_.push_back({place.replay_host, place.size_bytes, place.recorded_host});
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  uint64_t end = 0;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    Range& range = ranges_[i];
    range.overlaps_from = i != 0 && range.begin < end ? ranges_[i - 1].overlaps_from : i;
    end = std::max(end, range.begin + range.size_bytes);
  }
  constexpr uint64_t kReach = format::kOutsideMostBytes;
  low_ = ranges_.empty() || ranges_.front().begin < kReach ? 0 : ranges_.front().begin - kReach;
  high_ = end > UINT64_MAX - kReach ? UINT64_MAX : end + kReach;
}

bool AddressMap::shares_as_recorded() const noexcept {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    for (size_t before = ranges_[i].overlaps_from; before < i; ++before) {
      const Range& other = ranges_[before];
      if (other.begin + other.size_bytes <= ranges_[i].begin) continue;
      if (ranges_[i].begin - other.begin != ranges_[i].recorded - other.recorded) return false;
    }
  }
  return true;
}

bool AddressMap::holds_any(uint64_t address, uint64_t size_bytes) const noexcept {
  auto at = std::ranges::lower_bound(ranges_, address + size_bytes, {}, &Range::begin);
  if (at == ranges_.begin()) return false;
  const size_t last = static_cast<size_t>(at - ranges_.begin()) - 1;
  for (size_t i = ranges_[last].overlaps_from; i <= last; ++i) {
    if (ranges_[i].begin + ranges_[i].size_bytes > address) return true;
  }
  return false;
}

std::optional<std::byte> AddressMap::top_byte() const noexcept {
  if (low_ >> 56 != high_ >> 56) return std::nullopt;
  return static_cast<std::byte>(low_ >> 56);
}

bool AddressMap::fits_near(uint64_t replay_word, uint64_t recorded_word,
                           uint64_t reach) const noexcept {
  if (replay_word < low_ || replay_word > high_) return false;
  const auto fits = [&](const Range& range) {
    const uint64_t offset = replay_word - range.begin;
    const uint64_t outside = replay_word < range.begin    ? range.begin - replay_word
                             : offset <= range.size_bytes ? 0
                                                          : offset - range.size_bytes;
    return recorded_word - range.recorded == offset && outside <= reach;
  };
  // Candidates: ranges that contain the word, and those that end where these begin. Ranges overlap
  // if allocations share memory.
  const auto next = std::ranges::upper_bound(ranges_, replay_word, {}, &Range::begin);
  auto first = next;
  for (int i = 0; i < 2 && first != ranges_.begin(); ++i)
    first = ranges_.begin() + static_cast<ptrdiff_t>(std::prev(first)->overlaps_from);
  auto last = next;
  while (last != ranges_.end() && last->begin == next->begin) ++last;
  return std::any_of(first, last, fits);
}

bool AddressMap::denotes(uint64_t replay_word, uint64_t recorded_word) const noexcept {
  return fits_near(replay_word, recorded_word, 0);
}

bool AddressMap::denotes_outside(uint64_t replay_word, uint64_t recorded_word) const noexcept {
  return fits_near(replay_word, recorded_word, format::kOutsideMostBytes);
}

uint64_t AddressMap::relocated(const format::Relocation& relocation,
                               uint64_t recorded_word) const noexcept {
  const Placement& place = placements_[relocation.allocation - 1];
  const auto addend = static_cast<uint64_t>(relocation.addend);
  const bool by_host = place.recorded_host != 0 && place.recorded_host != place.recorded_device &&
                       recorded_word == place.recorded_host + addend;
  return (by_host && place.replay_host != 0 ? place.replay_host : place.replay_device) + addend;
}

uint64_t AddressMap::unrelocated(const format::Relocation& relocation,
                                 uint64_t replay_word) const noexcept {
  const Placement& place = placements_[relocation.allocation - 1];
  const auto addend = static_cast<uint64_t>(relocation.addend);
  const uint64_t device = place.recorded_device + addend;
  const uint64_t host = place.recorded_host + addend;
  if (replay_word == place.replay_device + addend) return device;
  if (place.replay_host != 0 && replay_word == place.replay_host + addend) return host;
  if (denotes(replay_word, device)) return device;
  if (place.recorded_host != 0 && denotes(replay_word, host)) return host;
  return replay_word;
}

Result<void> AddressMap::check(size_t size, const format::Relocation& relocation,
                               const std::string& where) const {
  if (!range_fits(relocation.offset_bytes, sizeof(uint64_t), size)) {
    return fail(Status::kCorrupt, fmt::format("{}: relocation at byte {} of {}", where,
                                              relocation.offset_bytes, size));
  }
  if (relocation.allocation == 0 || relocation.allocation > placements_.size()) {
    return fail(Status::kCorrupt, fmt::format("{}: relocation into unknown allocation {}", where,
                                              relocation.allocation));
  }
  return {};
}

Result<void> AddressMap::apply(std::span<std::byte> bytes,
                               const std::vector<format::Relocation>& relocations,
                               const std::string& where) const {
  for (const format::Relocation& relocation : relocations) {
    GFXGRAPH_TRY(check(bytes.size(), relocation, where));
    if (relocation.ambiguous && keep_ambiguous_) continue;
    store_word(bytes, relocation.offset_bytes,
               relocated(relocation, load_word(bytes, relocation.offset_bytes)));
  }
  return {};
}

Result<void> AddressMap::unapply(std::span<std::byte> bytes,
                                 const std::vector<format::Relocation>& relocations,
                                 const std::string& where) const {
  for (const format::Relocation& relocation : relocations) {
    GFXGRAPH_TRY(check(bytes.size(), relocation, where));
    store_word(bytes, relocation.offset_bytes,
               unrelocated(relocation, load_word(bytes, relocation.offset_bytes)));
  }
  return {};
}

}  // namespace gfxgraph::replayer
