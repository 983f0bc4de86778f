#include "format/read/earlier_contents.h"

#include <algorithm>
#include <span>

namespace gfxgraph::format {

EarlierContents::EarlierContents(const Trace& trace) : trace_(trace) {
  std::unordered_map<AllocationId, uint64_t> sizes;
  for (const Event& event : trace.events()) {
    if (const auto* begin = std::get_if<AllocationBegin>(&event.action)) {
      lives_[begin->id] = {begin->recorded_address, event.sequence};
      sizes[begin->id] = begin->size_bytes;
    } else if (const auto* end = std::get_if<AllocationEnd>(&event.action)) {
      if (!end->freed) continue;
      ends_.push_back({lives_[end->id].address, sizes[end->id], event.sequence, &end->post});
    }
  }
}

Result<std::vector<std::byte>> EarlierContents::before(AllocationId id, uint64_t size_bytes) const {
  std::vector<std::byte> bytes(size_bytes);
  const auto life = lives_.find(id);
  if (life == lives_.end()) return bytes;
  const uint64_t first = life->second.address;
  for (const End& end : ends_) {
    if (end.event > life->second.begin) break;
    const uint64_t from = std::max(first, end.address);
    const uint64_t to = std::min(first + size_bytes, end.address + end.size_bytes);
    if (from >= to) continue;
    const std::span<std::byte> part = std::span(bytes).subspan(from - first, to - from);
    if (!end.post->stored || end.post->size_bytes < to - end.address) {
      std::ranges::fill(part, std::byte{0});
      continue;
    }
    if (!end.post->blob) {
      std::ranges::fill(part, std::byte{end.post->fill});
      continue;
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> held, trace_.blob(end.post->blob));
    std::ranges::copy(held.subspan(from - end.address, to - from), part.begin());
  }
  return bytes;
}

}  // namespace gfxgraph::format
