// Pointers that follow a buffer which is bound anew, in what was prepared before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/relocation.h"

namespace gfxgraph::replayer {

// Whether it has changed. `recorded`: the allocation that it was made from; 0: none, but staging.
template <typename Byte>
bool follow_move(const Move& move, Byte*& pointer, format::AllocationId recorded) noexcept {
  if (recorded == 0) return false;
  const auto before = reinterpret_cast<uint64_t>(pointer);
  const uint64_t now = move.moved(before, recorded);
  pointer = reinterpret_cast<Byte*>(now);
  return now != before;
}

// The same for words in memory of the host.
inline bool follow_move(const Move& move, std::span<std::byte> bytes,
                        const std::vector<format::Relocation>& words) noexcept {
  bool changed = false;
  for (const format::Relocation& word : words) {
    if (!range_fits(word.offset_bytes, sizeof(uint64_t), bytes.size())) continue;
    const uint64_t before = load_word(bytes, word.offset_bytes);
    const uint64_t now = move.moved(before, word.allocation);
    changed |= now != before;
    store_word(bytes, word.offset_bytes, now);
  }
  return changed;
}

}  // namespace gfxgraph::replayer
