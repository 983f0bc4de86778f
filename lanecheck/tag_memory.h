// The tags of memory: one for each dword. Memory without tags costs nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "lanecheck/budget.h"
#include "lanecheck/provenance_tags.h"

namespace gfxgraph::lanecheck {

// One thread.
class TagMemory {
 public:
  TagMemory(Tags& tags, Budget& budget) : tags_(tags), budget_(budget) {}
  ~TagMemory();
  TagMemory(const TagMemory&) = delete;
  TagMemory& operator=(const TagMemory&) = delete;

  // Of the dword that begins there; elsewhere of words that packed structs hold (set_word).
  Tag get(uint64_t address) {
    if (address % 4 != 0) [[unlikely]]
      return unaligned(address);
    const Chunk* const chunk = find(address);
    return chunk == nullptr ? 0 : (*chunk)[address % kChunkBytes / 4];
  }
  // A store of `bytes` (1 to 4) at any address. What replaces a part of a dword weakens it.
  void store(uint64_t address, unsigned bytes, Tag tag);
  // A recorded word, at any address.
  void set_word(uint64_t address, uint32_t word);
  void clear(uint64_t address, uint64_t bytes);
  void copy(uint64_t to, uint64_t from, uint64_t bytes);
  // The budget is spent: some tags were not kept.
  bool lost() const { return lost_; }

 private:
  static constexpr uint64_t kChunkBytes = 1 << 16;
  using Chunk = std::array<Tag, kChunkBytes / 4>;

  // Null: none of its dwords has a tag.
  Chunk* find(uint64_t address) {
    const uint64_t key = address / kChunkBytes;
    if (key != last_key_) [[unlikely]]
      look_up(key);
    return last_;
  }
  void look_up(uint64_t key);
  void set(uint64_t address, Tag tag);
  Tag unaligned(uint64_t address) const;
  void clear_unaligned(uint64_t address, uint64_t bytes);

  Tags& tags_;
  Budget& budget_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_;
  std::map<uint64_t, Tag> unaligned_;  // by address of their first byte
  // Dwords that are being stored in parts: the tags of these, and which bytes they are.
  struct Rewritten {
    Tag tag = 0;
    uint32_t bytes = 0;
  };
  std::unordered_map<uint64_t, Rewritten> rewritten_;
  uint64_t last_key_ = UINT64_MAX;
  Chunk* last_ = nullptr;
  bool lost_ = false;
};

}  // namespace gfxgraph::lanecheck
