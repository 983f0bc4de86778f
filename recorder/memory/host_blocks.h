// Host-visible memory in blocks of kHostBlockBytes: their contents and changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pointers/word_resolver.h"
#include "recorder/events/flights.h"
#include "recorder/objects/allocation_map.h"

namespace gfxgraph::recorder {

// Reads blocks of an allocation in rising order, several at once.
class BlockReader {
 public:
  // Up to block `last`. The allocation outlives it.
  BlockReader(const Allocation& allocation, uint64_t last);
  static constexpr uint64_t kMostBlocks = 16;
  // Valid until the next call. Returns nothing if it cannot be read. `most`: blocks to read at
  // once.
  std::optional<std::span<const std::byte>> block(uint64_t block, uint64_t most = kMostBlocks);
  std::optional<uint64_t> hash(uint64_t block, uint64_t most = kMostBlocks);  // XXH3

 private:
  const Allocation& allocation_;
  const uint64_t end_;   // block after the last one
  uint64_t first_ = 0;   // of what was read
  uint64_t behind_ = 0;  // block after it
  std::unique_ptr<std::byte[]> bytes_;
};

// Blocks of host-visible memory that were read to compare them, in this process: for tests.
uint64_t compared_blocks() noexcept;
void count_compared(uint64_t blocks) noexcept;
// One for each block (XXH3); kUnknownBlock where it cannot be read.
std::vector<uint64_t> block_hashes(const Allocation& allocation);
// Return nothing if it cannot be read.
std::optional<uint64_t> block_hash(const Allocation& allocation, uint64_t block);
std::optional<std::vector<std::byte>> host_block(const Allocation& allocation, uint64_t block);

// The flights over an allocation, asked for block by block. A kernel's are over all of its blocks:
// they are looked up once, and again when some were issued or have landed.
class BlockFlights {
 public:
  // Both outlive it.
  BlockFlights(const Flights& flights, const Allocation& allocation)
      : flights_(flights), allocation_(allocation) {}
  // Valid until the next call.
  std::span<const Flight> over(uint64_t block);
  // Whether some are, and all of them over each block: kernels.
  bool over_everything();
  bool over_nothing();

 private:
  void look_up();
  const Flights& flights_;
  const Allocation& allocation_;
  std::optional<uint64_t> changes_;  // of flights_, when all_ was looked up
  bool everywhere_ = true;           // each of them is over each block
  std::vector<Flight> all_;
  std::vector<Flight> some_;
};

// Whether one of the copies among them writes the byte of the allocation.
bool copied(std::span<const Flight> flights, uint64_t offset);
// The bytes of a block at `base` that differ from `saved`, except those that copies among `flights`
// write; of words that no copy still writes, all bytes. Both have the same size.
std::vector<bool> changed_beside_copies(std::span<const std::byte> now,
                                        std::span<const std::byte> saved, uint64_t base,
                                        std::span<const Flight> flights);
// A pointer that a copy in flight partly writes is written as a whole, if it points to memory in
// the trace: otherwise half of it would keep the recorded value while a replay has other addresses.
void take_whole_pointers(std::span<const std::byte> now, const WordResolver& words,
                         std::vector<bool>& written);

// Calls `visit` with begin and size of each run of places that are set.
template <typename Visit>
void each_run(const std::vector<bool>& set, Visit&& visit) {
  for (size_t begin = 0; begin < set.size(); ++begin) {
    size_t end = begin;
    while (end < set.size() && set[end]) ++end;
    if (end != begin) visit(begin, end - begin);
    begin = end;
  }
}

}  // namespace gfxgraph::recorder
