#include "recorder/contents/host_blocks.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "recorder/contents/host_memory.h"

namespace gfxgraph::recorder {
namespace {

bool under_way(std::span<const Flight> flights, uint64_t offset) {
  return std::any_of(flights.begin(), flights.end(), [&](const Flight& flight) {
    return !flight.kernel && !flight.done && flight.writes(offset);
  });
}

}  // namespace

std::span<const std::byte> visible_bytes(const Allocation& allocation) {
  return {reinterpret_cast<const std::byte*>(allocation.host_address), allocation.size_bytes};
}

std::vector<uint64_t> block_hashes(const Allocation& allocation) {
  const std::span<const std::byte> all = visible_bytes(allocation);
  std::vector<uint64_t> hashes;
  for (uint64_t block = 0; block * kHostBlockBytes < all.size(); ++block) {
    hashes.push_back(block_hash(allocation, block));
  }
  return hashes;
}

uint64_t block_hash(const Allocation& allocation, uint64_t block) {
  const auto bytes = visible_bytes(allocation).subspan(block * kHostBlockBytes);
  return XXH3_64bits(bytes.data(), std::min<uint64_t>(kHostBlockBytes, bytes.size()));
}

std::span<const Flight> BlockFlights::over(uint64_t block) {
  if (changes_ != flights_.changes()) {
    changes_ = flights_.changes();
    all_ = flights_.over(allocation_.id, 0, allocation_.size_bytes);
    everywhere_ = std::ranges::all_of(all_, [&](const Flight& one) {
      return one.begin == 0 && one.end == allocation_.size_bytes;
    });
  }
  if (everywhere_) return all_;
  const uint64_t begin = block * kHostBlockBytes;
  some_.clear();
  std::ranges::copy_if(all_, std::back_inserter(some_), [&](const Flight& one) {
    return one.begin < begin + kHostBlockBytes && begin < one.end;
  });
  return some_;
}

bool copied(std::span<const Flight> flights, uint64_t offset) {
  return std::any_of(flights.begin(), flights.end(),
                     [&](const Flight& flight) { return !flight.kernel && flight.writes(offset); });
}

std::vector<bool> changed_beside_copies(std::span<const std::byte> now,
                                        std::span<const std::byte> saved, uint64_t base,
                                        std::span<const Flight> flights) {
  std::vector<bool> written(now.size());
  for (size_t word = 0; word < now.size(); word += sizeof(uint64_t)) {
    const size_t end = std::min(word + sizeof(uint64_t), now.size());
    if (std::memcmp(&now[word], &saved[word], end - word) == 0) continue;
    bool in_flight = false;
    bool changed = false;
    for (size_t i = word; i < end; ++i) {
      written[i] = now[i] != saved[i] && !copied(flights, base + i);
      in_flight = in_flight || under_way(flights, base + i);
      changed = changed || written[i];
    }
    // Whole words where possible: a pointer of which only a few bytes changed must stay a pointer.
    if (changed && !in_flight) std::fill(written.begin() + word, written.begin() + end, true);
  }
  return written;
}

void take_whole_pointers(std::span<const std::byte> now, const WordResolver& words,
                         std::vector<bool>& written) {
  for (size_t word = 0; word + sizeof(uint64_t) <= now.size(); word += sizeof(uint64_t)) {
    const auto begin = written.begin() + static_cast<ptrdiff_t>(word);
    const auto end = begin + sizeof(uint64_t);
    if (std::find(begin, end, true) == end || std::find(begin, end, false) == end) continue;
    const auto found = words.memory(now.subspan(word, sizeof(uint64_t)));
    if (!found.empty()) std::fill(begin, end, true);
  }
}

std::optional<std::vector<std::byte>> host_block(const Allocation& allocation, uint64_t block) {
  const uint64_t begin = block * kHostBlockBytes;
  const uint64_t size = std::min(kHostBlockBytes, allocation.size_bytes - begin);
  const uint64_t address = allocation.host_address + begin;
  const auto* const bytes = reinterpret_cast<const std::byte*>(address);
  if (!allocation.plain_host) return std::vector<std::byte>(bytes, bytes + size);
  std::vector<std::byte> read(size);
  return read_host_piece(address, read) ? std::optional(std::move(read)) : std::nullopt;
}

}  // namespace gfxgraph::recorder
