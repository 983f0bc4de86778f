#include "recorder/events/host_effects.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "recorder/events/host_memory.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

// Whole words: a pointer of which only a few bytes changed must stay a pointer.
constexpr size_t kWordBytes = sizeof(uint64_t);

// `kept` holds what `now` does.
void find_words(format::AllocationId allocation, uint64_t offset, std::span<const std::byte> before,
                std::span<const std::byte> now, const KeptBytes& kept,
                std::vector<HostEffects::Change>& changes) {
  const size_t size = std::min(before.size(), now.size());
  const auto same = [&](size_t word) {
    return std::memcmp(before.data() + word, now.data() + word,
                       std::min(kWordBytes, size - word)) == 0;
  };
  for (size_t begin = 0; begin < size; begin += kWordBytes) {
    if (same(begin)) continue;
    size_t end = begin + kWordBytes;
    while (end < size && !same(end)) end += kWordBytes;
    end = std::min(end, size);
    changes.push_back({allocation, offset + begin, kept.part(begin, end - begin)});
    begin = end;  // the word there is the same, or there is none
  }
}

constexpr HostEffects::Run kMostKept = 256;

}  // namespace

KeptBytes HostEffects::read(const Memory& memory) const {
  return store_.keep(memory.size_bytes, [&](uint64_t offset, std::span<std::byte> piece) {
    return read_program(memory.address + offset, piece);
  });
}

void HostEffects::watch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  allocation.watched = true;
  allocations_.watch_changes(allocation);
  const std::lock_guard lock(mutex_);
  const Memory& memory = watched_[allocation.id] = {allocation.host_address, allocation.size_bytes,
                                                    allocation.plain_host};
  for (auto& [run, snapshots] : running_) {
    if (const KeptBytes bytes = read(memory)) snapshots[allocation.id] = {bytes, bytes};
  }
}

void HostEffects::unwatch(Allocation& allocation) {
  if (!allocation.host_visible()) return;
  allocation.blocks.unwatch();
  allocation.watched = false;
  allocations_.watch_changes(allocation);
  const std::lock_guard lock(mutex_);
  watched_.erase(allocation.id);
  for (auto& [run, snapshots] : running_) snapshots.erase(allocation.id);
}

void HostEffects::begin(Run run) {
  Snapshots& snapshots = running_[run];
  for (const auto& [allocation, memory] : watched_) {
    std::vector<uint64_t> hashes;
    const auto hashed = [&, &address = memory.address](uint64_t offset,
                                                       std::span<std::byte> piece) {
      if (!read_program(address + offset, piece)) return false;
      for (size_t at = 0; at < piece.size(); at += kHostBlockBytes) {
        const size_t size = std::min<size_t>(kHostBlockBytes, piece.size() - at);
        hashes.push_back(XXH3_64bits(&piece[at], size));
      }
      return true;
    };
    const KeptBytes bytes = store_.keep(memory.size_bytes, hashed);
    if (!bytes) continue;
    if (memory.keep) kept_[run][allocation] = bytes;
    began_[run][allocation] = store_.keep(std::as_bytes(std::span(hashes)));
    snapshots[allocation] = {bytes, bytes};
  }
}

KeptBytes HostEffects::told_to_hold(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const auto kept = kept_.find(telling_);
  if (kept == kept_.end()) return {};
  const auto found = kept->second.find(allocation.id);
  return found == kept->second.end() ? KeptBytes() : found->second;
}

bool HostEffects::told_unchanged(const Allocation& allocation, uint64_t block, bool copies) {
  const std::lock_guard lock(mutex_);
  const std::optional<uint64_t> then = hash_at_begin(telling_, allocation.id, block);
  return then ? *then == allocation.blocks.known(block) : !copies;
}

void HostEffects::told(Run run) {
  telling_ = 0;
  const std::lock_guard lock(mutex_);
  kept_.erase(run);
  began_.erase(run);
}

std::optional<uint64_t> HostEffects::hash_at_begin(Run run, format::AllocationId allocation,
                                                   uint64_t block) const {
  const auto began = began_.find(run);
  if (began == began_.end()) return std::nullopt;
  const auto found = began->second.find(allocation);
  uint64_t hash = 0;
  const bool known =
      found != began->second.end() && (block + 1) * sizeof(hash) <= found->second.size() &&
      found->second.read(block * sizeof(hash), std::as_writable_bytes(std::span(&hash, 1)));
  return known ? std::optional(hash) : std::nullopt;
}

// In pieces. Blocks side by side that have changed are kept in one.
void HostEffects::find_changes(format::AllocationId allocation, const Snapshot& snapshot,
                               const Memory& memory, const KeptBytes& now, Effect& effect) const {
  std::vector<std::byte> before_piece(ByteStore::kPieceBytes);
  std::vector<std::byte> now_piece(ByteStore::kPieceBytes);
  const uint64_t all = snapshot.before.size();
  for (uint64_t base = 0; base < all; base += ByteStore::kPieceBytes) {
    const size_t size = std::min<uint64_t>(ByteStore::kPieceBytes, all - base);
    const std::span before = std::span(before_piece).first(size);
    const std::span after = std::span(now_piece).first(size);
    if (!snapshot.before.read(base, before)) return;
    if (now ? !now.read(base, after) : !read_program(memory.address + base, after)) return;
    const auto block_bytes = [&](size_t at) {
      return std::min<size_t>(kHostBlockBytes, size - at);
    };
    const auto changed = [&](size_t at) {
      return std::memcmp(&before[at], &after[at], block_bytes(at)) != 0;
    };
    for (size_t begin = 0; begin < size; begin += kHostBlockBytes) {
      size_t end = begin;
      while (end < size && changed(end)) end += block_bytes(end);
      if (end == begin) continue;
      const KeptBytes kept = now ? now.part(base + begin, end - begin)
                                 : store_.keep(after.subspan(begin, end - begin));
      if (!kept) return;
      for (size_t at = begin; at < end; at += kHostBlockBytes) {
        const size_t bytes = block_bytes(at);
        find_words(allocation, base + at, before.subspan(at, bytes), after.subspan(at, bytes),
                   kept.part(at - begin, bytes), effect.changes);
        effect.blocks.push_back({allocation, (base + at) / kHostBlockBytes,
                                 XXH3_64bits(&before[at], bytes), XXH3_64bits(&after[at], bytes)});
      }
      begin = end;  // that block has not changed, or there is none
    }
  }
}

HostEffects::Effect HostEffects::end(Run run) {
  Effect effect;
  // No later work refers to these old runs any more.
  if (run > kMostKept) {
    kept_.erase(kept_.begin(), kept_.lower_bound(run - kMostKept));
    began_.erase(began_.begin(), began_.lower_bound(run - kMostKept));
  }
  const auto found = running_.find(run);
  if (found == running_.end()) return effect;
  for (const auto& [allocation, snapshot] : found->second) {
    const Memory& memory = watched_.at(allocation);
    KeptBytes now;
    if (const auto kept = kept_.find(run);
        kept != kept_.end() && kept->second.contains(allocation)) {
      now = read(memory);
      if (!now) continue;
      kept->second[allocation] = now;
    }
    find_changes(allocation, snapshot, memory, now, effect);
  }
  running_.erase(found);
  // Adds the changes to the bytes kept for other functions, so that these do not claim them.
  for (auto& [other, kept] : kept_) {
    if (other == run) continue;
    for (const Change& change : effect.changes) {
      const auto seen = kept.find(change.allocation);
      if (seen != kept.end() && !seen->second.write(change.offset_bytes, change.bytes.all()))
        seen->second = {};
    }
  }
  return effect;
}

void HostEffects::to_take(Effect effect) {
  ended_.push_back(std::move(effect));
  any_ended_.store(true, std::memory_order_release);
}

void HostEffects::take() {
  if (!any_ended_.load(std::memory_order_acquire)) return;
  std::vector<Effect> effects;
  {
    const std::lock_guard lock(mutex_);
    effects.swap(ended_);
    any_ended_.store(false, std::memory_order_relaxed);
  }
  for (const Effect& effect : effects) {
    for (const Block& block : effect.blocks) {
      Allocation* allocation = allocations_.by_id(block.allocation);
      if (allocation == nullptr || block.index >= allocation->blocks.count()) continue;
      if (allocation->blocks.known(block.index) == block.hash_before)
        allocation->blocks.know(block.index, block.hash_after);
    }
    for (const Change& change : effect.changes) {
      Allocation* allocation = allocations_.by_id(change.allocation);
      if (allocation == nullptr) continue;
      const std::vector<std::byte> bytes = change.bytes.all();
      allocation->write_known(change.offset_bytes, bytes);
      const uint64_t block = change.offset_bytes / kHostBlockBytes;  // changes do not cross blocks
      allocation->blocks.write_saved(block, change.offset_bytes - block * kHostBlockBytes, bytes);
    }
  }
}

std::optional<HostEffects::Meanwhile> HostEffects::changed_meanwhile(const Allocation& allocation,
                                                                     uint64_t block,
                                                                     std::span<const std::byte> now,
                                                                     std::vector<Change>& changes) {
  const std::lock_guard lock(mutex_);
  if (any_ended_.load(std::memory_order_relaxed)) return std::nullopt;
  const uint64_t offset_bytes = block * kHostBlockBytes;
  const uint64_t known = allocation.blocks.known(block);
  Meanwhile result = Meanwhile::kNobody;
  for (auto& [run, snapshots] : running_) {
    const auto found = snapshots.find(allocation.id);
    if (found == snapshots.end()) continue;
    Snapshot& snapshot = found->second;
    std::vector<std::byte> then(now.size());
    if (!snapshot.before.read(offset_bytes, then)) return Meanwhile::kMixed;
    if (XXH3_64bits(then.data(), then.size()) != known) {
      // The program wrote there before the function began. If that is all, the function has had no
      // part in it.
      if (std::ranges::equal(then, now)) continue;
      return Meanwhile::kMixed;
    }
    const KeptBytes kept = store_.keep(now);
    if (!kept || !snapshot.told.read(offset_bytes, then)) return Meanwhile::kMixed;
    result = Meanwhile::kTold;
    find_words(allocation.id, offset_bytes, then, now, kept, changes);
    if (!snapshot.told.write(offset_bytes, now)) return Meanwhile::kMixed;
  }
  return result;
}

}  // namespace gfxgraph::recorder
