#include "replayer/check/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/write/writer.h"

namespace gfxgraph::replayer {
namespace {

struct BoundRange {
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  uint64_t recorded = 0;
};

// Sorted by address, so that one search finds a word.
std::vector<BoundRange> ranges_of(const Instance& instance) {
  std::vector<BoundRange> ranges;
  const Memory& memory = instance.memory();
  for (size_t i = 0; i < instance.program().allocations().size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (!memory.exists(id)) continue;
    const Placement& place = memory.addresses().placement(id);
    ranges.push_back({place.replay_device, place.size_bytes, place.recorded_device});
    if (place.replay_host != 0 && place.replay_host != place.replay_device)
      ranges.push_back({place.replay_host, place.size_bytes, place.recorded_host});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const BoundRange& a, const BoundRange& b) { return a.begin < b.begin; });
  return ranges;
}

void to_recorded_addresses(std::span<std::byte> bytes, const std::vector<BoundRange>& ranges) {
  if (ranges.empty()) return;
  for (uint64_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = load_word(bytes, at);
    if (word < ranges.front().begin) continue;
    const auto next = std::upper_bound(
        ranges.begin(), ranges.end(), word,
        [](uint64_t value, const BoundRange& range) { return value < range.begin; });
    const BoundRange& range = *(next - 1);
    if (word - range.begin >= range.size_bytes) continue;
    store_word(bytes, at, range.recorded + (word - range.begin));
  }
}

}  // namespace

Result<std::vector<format::BlobId>> fingerprint(const Instance& instance) {
  const std::vector<BoundRange> ranges = ranges_of(instance);
  std::vector<format::BlobId> hashes(instance.program().allocations().size());
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto id = static_cast<format::AllocationId>(i + 1);
    if (!instance.memory().exists(id)) continue;
    if (instance.program().allocations()[i].begin->object) continue;  // no contents
    bytes.resize(instance.memory().size(id));
    GFXGRAPH_TRY(instance.memory().read(id, 0, bytes));
    to_recorded_addresses(bytes, ranges);
    hashes[i] = format::hash_bytes(bytes);
  }
  for (const HostResult& result : instance.host_results()) {
    const auto received = std::as_bytes(std::span(result.bytes, result.size_bytes));
    bytes.assign(received.begin(), received.end());
    to_recorded_addresses(bytes, ranges);
    hashes.push_back(format::hash_bytes(bytes));
  }
  return hashes;
}

}  // namespace gfxgraph::replayer
