#include "format/ranges/allocation_identity.h"

#include <algorithm>
#include <tuple>
#include <variant>

#include "format/ranges/content_bytes.h"

namespace gfxgraph::ranges {
namespace {

constexpr MemoryKey kRemadeBit = MemoryKey{1} << 63;

}  // namespace

AllocationIdentity::AllocationIdentity(const format::Trace& trace) {
  using Place = std::tuple<uint64_t, uint64_t, format::AllocationKind>;
  struct Left {
    format::AllocationId first = 0;
    const format::Content* post = nullptr;
  };
  std::map<Place, Left> left;  // allocations that ended without being freed
  std::unordered_map<format::AllocationId, uint64_t, SeededHash> addresses;
  for (const format::Event& event : trace.events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      Life& life = lives_[begin->id];
      life.first = begin->id;
      life.begin_event = event.sequence;
      life.size_bytes = begin->size_bytes;
      life.kind = begin->kind;
      addresses[begin->id] = begin->recorded_address;
      const auto before = left.find({begin->recorded_address, begin->size_bytes, begin->kind});
      if (before != left.end()) {
        life.first = before->second.first;
        life.changed_meanwhile = equal_bytes(begin->initial, *before->second.post) == false;
        left.erase(before);
      }
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      const auto found = lives_.find(end->id);
      if (found == lives_.end()) continue;
      Life& life = found->second;
      life.freed = end->freed;
      if (end->freed) continue;
      left[{addresses[end->id], life.size_bytes, life.kind}] = {life.first, &end->post};
    }
  }
  std::vector<Life*> freed;
  for (auto& [id, life] : lives_) {
    if (life.freed) freed.push_back(&life);
  }
  std::ranges::sort(freed, {}, &Life::begin_event);
  for (Life* life : freed) {
    life->freed_before = freed_begins_.size();
    freed_begins_.push_back(life->begin_event);
  }
}

MemoryKey AllocationIdentity::key(format::AllocationId allocation, const IterationSpan& iteration) {
  const auto found = lives_.find(allocation);
  if (found == lives_.end()) return allocation;
  const Life& life = found->second;
  if (!life.freed || life.first != allocation || life.begin_event < iteration.first_event ||
      life.begin_event >= iteration.end_event) {
    return life.first;
  }
  const auto earlier = std::ranges::lower_bound(freed_begins_, iteration.first_event);
  const auto before = static_cast<uint64_t>(earlier - freed_begins_.begin());
  const RemadeAllocation one{life.freed_before - before, life.size_bytes, life.kind};
  const auto [entry, added] = remade_keys_.try_emplace(one, kRemadeBit | remade_.size());
  if (added) remade_.push_back(one);
  return entry->second;
}

const RemadeAllocation* AllocationIdentity::remade(MemoryKey key) const {
  return (key & kRemadeBit) == 0 ? nullptr : &remade_[key & ~kRemadeBit];
}

const format::AllocationKind* AllocationIdentity::kind(format::AllocationId allocation) const {
  const auto found = lives_.find(allocation);
  return found == lives_.end() ? nullptr : &found->second.kind;
}

bool AllocationIdentity::changed_meanwhile(format::AllocationId allocation) const {
  const auto found = lives_.find(allocation);
  return found != lives_.end() && found->second.changed_meanwhile;
}

}  // namespace gfxgraph::ranges
