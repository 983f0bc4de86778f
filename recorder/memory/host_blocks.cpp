#include "recorder/memory/host_blocks.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "recorder/events/host_memory.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

bool under_way(std::span<const Flight> flights, uint64_t offset) {
  return std::any_of(flights.begin(), flights.end(), [&](const Flight& flight) {
    return !flight.kernel && !flight.done && flight.writes(offset);
  });
}

}  // namespace

namespace {

constinit std::atomic<uint64_t> compared{0};

}  // namespace

uint64_t compared_blocks() noexcept { return compared.load(std::memory_order_relaxed); }

void count_compared(uint64_t blocks) noexcept {
  compared.fetch_add(blocks, std::memory_order_relaxed);
}

BlockReader::BlockReader(const Allocation& allocation, uint64_t last)
    : allocation_(allocation),
      end_(std::min(last + 1, (allocation.size_bytes + kHostBlockBytes - 1) / kHostBlockBytes)) {}

std::optional<std::span<const std::byte>> BlockReader::block(uint64_t block, uint64_t most) {
  if (block >= end_) return std::nullopt;
  const auto size_of = [&](uint64_t first, uint64_t behind) {
    return std::min(behind * kHostBlockBytes, allocation_.size_bytes) - first * kHostBlockBytes;
  };
  if (block < first_ || block >= behind_) {
    const auto read = [&](uint64_t count) {
      first_ = block;
      behind_ = std::min(block + count, end_);
      count_compared(behind_ - first_);
      return read_program(allocation_.host_address + block * kHostBlockBytes,
                          {bytes_.get(), size_of(first_, behind_)});
    };
    if (!bytes_) {
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(std::min(kMostBlocks, end_ - block) *
                                                           kHostBlockBytes);
    }
    // Where a part of the blocks cannot be read, the others still can.
    if (!read(std::min(most, kMostBlocks)) && !read(1)) {
      behind_ = first_;
      return std::nullopt;
    }
  }
  return std::span<const std::byte>(bytes_.get() + (block - first_) * kHostBlockBytes,
                                    size_of(block, block + 1));
}

std::optional<uint64_t> BlockReader::hash(uint64_t block, uint64_t most) {
  const auto bytes = this->block(block, most);
  if (!bytes) return std::nullopt;
  return XXH3_64bits(bytes->data(), bytes->size());
}

std::vector<uint64_t> block_hashes(const Allocation& allocation) {
  std::vector<uint64_t> hashes;
  BlockReader reader(allocation, UINT64_MAX - 1);
  for (uint64_t block = 0; block * kHostBlockBytes < allocation.size_bytes; ++block) {
    hashes.push_back(reader.hash(block).value_or(kUnknownBlock));
  }
  return hashes;
}

std::optional<uint64_t> block_hash(const Allocation& allocation, uint64_t block) {
  return BlockReader(allocation, block).hash(block);
}

void BlockFlights::look_up() {
  if (changes_ == flights_.changes()) return;
  changes_ = flights_.changes();
  all_ = flights_.over(allocation_.id, 0, allocation_.size_bytes);
  everywhere_ = std::ranges::all_of(
      all_, [&](const Flight& one) { return one.begin == 0 && one.end == allocation_.size_bytes; });
}

bool BlockFlights::over_everything() {
  look_up();
  return !all_.empty() && everywhere_ && std::ranges::all_of(all_, &Flight::kernel);
}

bool BlockFlights::over_nothing() {
  look_up();
  return all_.empty();
}

std::span<const Flight> BlockFlights::over(uint64_t block) {
  look_up();
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
  BlockReader reader(allocation, block);
  const auto bytes = reader.block(block);
  if (!bytes) return std::nullopt;
  return std::vector<std::byte>(bytes->begin(), bytes->end());
}

}  // namespace gfxgraph::recorder
