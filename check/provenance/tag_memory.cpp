#include "check/provenance/tag_memory.h"

#include <algorithm>
#include <vector>

namespace gfxgraph::check {

TagMemory::~TagMemory() { budget_.give_memory(chunks_.size() * sizeof(Chunk)); }

void TagMemory::look_up(uint64_t key, Near& near) const {
  const auto found = chunks_.find(seconds_.chunk(key));
  near = {key, found == chunks_.end() ? nullptr : found->second.get()};
}

void TagMemory::set(uint64_t address, Tag tag) {
  Chunk* chunk = find(address);
  if (chunk == nullptr) {
    if (tag == 0) return;
    if (!budget_.take_memory(sizeof(Chunk), "the origins of words in memory")) {
      lost_ = true;
      return;
    }
    std::unique_ptr<Chunk>& made = chunks_[seconds_.chunk(address / kChunkBytes)];
    made = std::make_unique<Chunk>();
    near_.fill({});
    chunk = made.get();
  }
  (*chunk)[address % kChunkBytes / 4] = tag;
  ++changes_;
}

void TagMemory::alias(uint64_t second, uint64_t first, uint64_t bytes) {
  if (bytes == 0) return;
  if (!seconds_.add(second, first, bytes)) lost_ = true;
  near_.fill({});
  ++changes_;
}

void TagMemory::store(uint64_t address, unsigned bytes, Tag tag) {
  address = seconds_.address(address);
  if (!unaligned_.empty()) [[unlikely]]
    clear_unaligned(address, bytes);
  if (bytes == 4 && address % 4 == 0) {
    if (!rewritten_.empty()) [[unlikely]]
      rewritten_.erase(address);
    return set(address, tag);
  }
  const uint64_t first = address & ~UINT64_C(3);
  for (uint64_t at = first; at < address + bytes; at += 4) {
    const Tag old = get(at);
    if (old == 0 && tag == 0) continue;
    Rewritten& now = rewritten_[at];
    now.tag = tags_.unite(now.tag, tags_.weaken(tag));
    for (uint64_t byte = std::max(at, address); byte < std::min(at + 4, address + bytes); ++byte)
      now.bytes |= 1U << (byte - at);
    if (now.bytes == 0xf) {  // nothing of the old value is left
      set(at, now.tag);
      rewritten_.erase(at);
    } else {
      set(at, tags_.unite(tags_.weaken(old), tags_.weaken(tag)));
    }
  }
  if (bytes == 4 && tag != 0) unaligned_[address] = tag;
}

void TagMemory::set_word(uint64_t address, uint32_t word) {
  for (unsigned half = 0; half < 2; ++half) store(address + 4 * half, 4, Tags::of(word, half));
}

void TagMemory::clear(uint64_t address, uint64_t bytes) {
  address = seconds_.address(address);
  if (!unaligned_.empty()) clear_unaligned(address, bytes);
  rewritten_.clear();
  const uint64_t end = address + bytes;
  for (uint64_t at = address; at < end;) {
    Chunk* const chunk = find(at);
    const uint64_t stop = std::min(end, (at / kChunkBytes + 1) * kChunkBytes);
    if (chunk != nullptr) {
      ++changes_;
      // A dword of which a part remains has weak tags.
      const uint64_t first = (at + 3) & ~UINT64_C(3), last = stop & ~UINT64_C(3);
      for (uint64_t dword = first; dword < last; dword += 4) (*chunk)[dword % kChunkBytes / 4] = 0;
      if (at % 4 != 0) set(at & ~UINT64_C(3), tags_.weaken(get(at & ~UINT64_C(3))));
      if (stop % 4 != 0) set(last, tags_.weaken(get(last)));
    }
    at = stop;
  }
}

void TagMemory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  struct Kept {
    uint64_t offset;
    Tag tag;
  };
  std::vector<Kept> kept;
  to = seconds_.address(to);
  from = seconds_.address(from);
  for (uint64_t n = 0; n + 4 <= bytes;) {
    const uint64_t at = from + n;
    if (find(at) == nullptr) {
      n = (at / kChunkBytes + 1) * kChunkBytes - from;
      continue;
    }
    const uint64_t stop = std::min(bytes, (at / kChunkBytes + 1) * kChunkBytes - from);
    for (; n + 4 <= bytes && n < stop; ++n) {
      if ((from + n) % 4 != 0) continue;
      if (const Tag tag = get(from + n)) kept.push_back({n, tag});
    }
  }
  for (auto one = unaligned_.lower_bound(from);
       one != unaligned_.end() && one->first + 4 <= from + bytes; ++one)
    kept.push_back({one->first - from, one->second});
  clear(to, bytes);
  for (const Kept& one : kept) store(to + one.offset, 4, one.tag);
}

Tag TagMemory::unaligned(uint64_t address) const {
  const auto found = unaligned_.find(seconds_.address(address));
  return found == unaligned_.end() ? 0 : found->second;
}

void TagMemory::clear_unaligned(uint64_t address, uint64_t bytes) {
  const uint64_t first = address < 3 ? 0 : address - 3;
  unaligned_.erase(unaligned_.lower_bound(first), unaligned_.lower_bound(address + bytes));
}

}  // namespace gfxgraph::check
