#include "recorder/contents/host_effects.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "recorder/contents/host_memory.h"
#include "recorder/model/allocation_map.h"

namespace gfxgraph::recorder {
namespace {

// Whole words: a pointer of which few bytes changed must stay one.
constexpr size_t kWordBytes = sizeof(uint64_t);

void find_changes(format::AllocationId allocation, uint64_t offset,
                  std::span<const std::byte> before, std::span<const std::byte> now,
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
    changes.push_back({allocation, offset + begin, {now.begin() + begin, now.begin() + end}});
    begin = end;  // the word there is the same, or there is none
  }
}

constexpr HostEffects::Run kMostKept = 256;

}  // namespace

void HostEffects::watch(format::AllocationId allocation, uint64_t host_address, uint64_t size_bytes,
                        bool keep) {
  watched_[allocation] = {host_address, size_bytes, keep};
  for (auto& [run, snapshots] : running_) {
    if (auto bytes = read_host_bytes(host_address, size_bytes)) {
      snapshots[allocation] = {std::move(*bytes), {}};
    }
  }
}

void HostEffects::forget(format::AllocationId allocation) {
  watched_.erase(allocation);
  for (auto& [run, snapshots] : running_) snapshots.erase(allocation);
}

void HostEffects::begin(Run run) {
  Snapshots& snapshots = running_[run];
  for (const auto& [allocation, memory] : watched_) {
    if (auto bytes = read_host_bytes(memory.address, memory.size_bytes)) {
      if (memory.keep) kept_[run][allocation] = *bytes;
      std::vector<uint64_t>& hashes = began_[run][allocation];
      for (uint64_t at = 0; at < bytes->size(); at += kHostBlockBytes) {
        hashes.push_back(
            XXH3_64bits(bytes->data() + at, std::min<size_t>(kHostBlockBytes, bytes->size() - at)));
      }
      snapshots[allocation] = {std::move(*bytes), {}};
    }
  }
}

std::vector<std::byte> HostEffects::seen(Run run, format::AllocationId allocation) const {
  const auto kept = kept_.find(run);
  if (kept == kept_.end()) return {};
  const auto found = kept->second.find(allocation);
  return found == kept->second.end() ? std::vector<std::byte>() : found->second;
}

std::optional<uint64_t> HostEffects::hash_at_begin(Run run, format::AllocationId allocation,
                                                   uint64_t block) const {
  const auto began = began_.find(run);
  if (began == began_.end()) return std::nullopt;
  const auto found = began->second.find(allocation);
  if (found == began->second.end() || block >= found->second.size()) return std::nullopt;
  return found->second[block];
}

HostEffects::Effect HostEffects::end(Run run) {
  Effect effect;
  // Nobody was told of these.
  if (run > kMostKept) {
    kept_.erase(kept_.begin(), kept_.lower_bound(run - kMostKept));
    began_.erase(began_.begin(), began_.lower_bound(run - kMostKept));
  }
  const auto found = running_.find(run);
  if (found == running_.end()) return effect;
  for (const auto& [allocation, snapshot] : found->second) {
    const std::span<const std::byte> before = snapshot.before;
    const auto now = read_host_bytes(watched_.at(allocation).address, before.size());
    if (!now) continue;
    if (const auto kept = kept_.find(run); kept != kept_.end() && kept->second.contains(allocation))
      kept->second[allocation] = *now;
    for (uint64_t offset = 0; offset < before.size(); offset += kHostBlockBytes) {
      const size_t size = std::min<uint64_t>(kHostBlockBytes, before.size() - offset);
      const auto block_before = before.subspan(offset, size);
      const auto block_now = std::span(*now).subspan(offset, size);
      if (std::memcmp(block_before.data(), block_now.data(), size) == 0) continue;
      find_changes(allocation, offset, block_before, block_now, effect.changes);
      effect.blocks.push_back({allocation, offset / kHostBlockBytes,
                               XXH3_64bits(block_before.data(), size),
                               XXH3_64bits(block_now.data(), size)});
    }
  }
  running_.erase(found);
  return effect;
}

HostEffects::Meanwhile HostEffects::changed_meanwhile(format::AllocationId allocation,
                                                      uint64_t offset_bytes,
                                                      std::span<const std::byte> now,
                                                      uint64_t known,
                                                      std::vector<Change>& changes) {
  Meanwhile result = Meanwhile::kNobody;
  for (auto& [run, snapshots] : running_) {
    const auto found = snapshots.find(allocation);
    if (found == snapshots.end()) continue;
    Snapshot& snapshot = found->second;
    const auto before = std::span(snapshot.before).subspan(offset_bytes, now.size());
    if (XXH3_64bits(before.data(), before.size()) != known) return Meanwhile::kMixed;
    result = Meanwhile::kTold;
    if (snapshot.told.empty()) snapshot.told = snapshot.before;
    const auto told = std::span(snapshot.told).subspan(offset_bytes, now.size());
    find_changes(allocation, offset_bytes, told, now, changes);
    std::copy(now.begin(), now.end(), told.begin());
  }
  return result;
}

}  // namespace gfxgraph::recorder
