// The tags of memory, one per dword. Memory without tags needs no space.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "check/budget.h"
#include "check/memory/second_addresses.h"
#include "check/provenance/provenance_tags.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::check {

// Not thread-safe. `tags` and `budget` must outlive this.
class TagMemory {
 public:
  TagMemory(Tags& tags, Budget& budget) : tags_(tags), budget_(budget) {}
  ~TagMemory();
  TagMemory(const TagMemory&) = delete;
  TagMemory& operator=(const TagMemory&) = delete;

  // The tag of the dword at `address`; if unaligned, of a word in a packed struct (set_word).
  Tag get(uint64_t address) {
    if (address % 4 != 0) [[unlikely]]
      return unaligned(address);
    const Chunk* const chunk = find(address);
    return chunk == nullptr ? 0 : (*chunk)[address % kChunkBytes / 4];
  }
  // Whether no address that differs from `address` only in the bits `differ` has a tag. Fast: false
  // if not certain.
  GFXGRAPH_INLINE bool has_none(uint64_t address, uint64_t differ) {
    return unaligned_.empty() && rewritten_.empty() && differ < kChunkBytes &&
           find(address) == nullptr;
  }
  // The tags of aligned dwords; null: none has a tag. False: they are not stored in one piece.
  GFXGRAPH_INLINE bool span(uint64_t address, uint64_t bytes, const Tag*& tags) {
    if ((address ^ (address + bytes - 1)) >= kChunkBytes) [[unlikely]]
      return false;
    const Chunk* const chunk = find(address);
    tags = chunk == nullptr ? nullptr : chunk->data() + address % kChunkBytes / 4;
    return true;
  }
  // Changes whenever span() may give other tags.
  GFXGRAPH_INLINE uint64_t changes() const { return changes_; }
  // A store of `bytes` (1 to 4) at any address. A store to part of a dword makes its tag weak.
  void store(uint64_t address, unsigned bytes, Tag tag);
  // Tags both dwords of a recorded word, at any address.
  void set_word(uint64_t address, uint32_t word);
  void clear(uint64_t address, uint64_t bytes);
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  // The bytes from `second` on are those from `first` on: accesses at either address find the tags.
  // Tags count as lost if chunks cannot tell (SecondAddresses::add).
  void alias(uint64_t second, uint64_t first, uint64_t bytes);
  // Some tags were dropped, because the budget is exhausted.
  bool lost() const { return lost_; }

 private:
  static constexpr uint64_t kChunkBytes = 1 << 16;
  using Chunk = std::array<Tag, kChunkBytes / 4>;

  // The chunk of an address; null: none of its dwords has a tag.
  GFXGRAPH_INLINE Chunk* find(uint64_t address) {
    const uint64_t key = address / kChunkBytes;
    Near& near = near_[key * 0x9E3779B97F4A7C15u >> 60];
    if (near.key != key) [[unlikely]]
      look_up(key, near);
    return near.chunk;
  }
  // Kernels alternate between buffers: caches the last chunk per hash of the address.
  struct Near {
    uint64_t key = UINT64_MAX;
    Chunk* chunk = nullptr;
  };
  void look_up(uint64_t key, Near& near) const;
  void set(uint64_t address, Tag tag);
  Tag unaligned(uint64_t address) const;
  void clear_unaligned(uint64_t address, uint64_t bytes);

  Tags& tags_;
  Budget& budget_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_;
  SecondAddresses<kChunkBytes> seconds_;
  std::map<uint64_t, Tag> unaligned_;  // by the first address of the first byte
  // Dwords that are being stored in parts: the tags of the parts, and a mask of their bytes.
  struct Rewritten {
    Tag tag = 0;
    uint32_t bytes = 0;
  };
  std::unordered_map<uint64_t, Rewritten> rewritten_;  // by first address
  std::array<Near, 16> near_;
  uint64_t changes_ = 0;
  bool lost_ = false;
};

}  // namespace gfxgraph::check
