// Plain host memory (malloc, stack) that copy nodes write. HIP does not know it, and the program
// may free it at any time.
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "recorder/events/host_memory.h"
#include "recorder/memory/host_writes.h"

namespace gfxgraph::recorder {
namespace {

struct HostRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Sorts the ranges and merges overlapping ones.
void merge(std::vector<HostRange>& ranges) {
  std::ranges::sort(ranges, {}, &HostRange::begin);
  std::vector<HostRange> merged;
  for (const HostRange& range : ranges) {
    if (merged.empty() || range.begin >= merged.back().end) {
      merged.push_back(range);
    } else {
      merged.back().end = std::max(merged.back().end, range.end);
    }
  }
  ranges = std::move(merged);
}

}  // namespace

// Updates last_known, the contents that a replay will have: the bytes of the landed copies, and
// elsewhere those of the trace, not the current ones. `now`: empty if the memory cannot be read.
void HostWrites::land_plain(Allocation& allocation, std::span<const Flight> landing,
                            KeptBytes now) {
  std::vector<Flight> flights;
  std::ranges::copy_if(landing, std::back_inserter(flights),
                       [&](const Flight& flight) { return flight.allocation == allocation.id; });
  const bool late = std::ranges::any_of(flights, &Flight::late);
  if (late) {  // the host may have written or freed the memory since
    now = runs_.effects().told_to_hold(allocation);
  }
  KeptBytes known = std::exchange(allocation.last_known, {});
  if (!now) return;
  const bool whole = !known || known.size() != now.size();
  if (whole && late) {
    allocation.last_known = std::move(now);
    return;
  }
  for (uint64_t block = 0; block < allocation.blocks.count(); ++block) {
    const uint64_t begin = block * kHostBlockBytes;
    const uint64_t size = std::min<uint64_t>(kHostBlockBytes, now.size() - begin);
    const bool landed = std::ranges::any_of(flights, [&](const Flight& flight) {
      return flight.begin < begin + size && begin < flight.end;
    });
    if (landed == whole) continue;
    const std::vector<std::byte> bytes = now.part(begin, size).all();
    if (whole) {
      // A difference is a write of the program that is not in the trace yet.
      if (XXH3_64bits(bytes.data(), bytes.size()) != allocation.blocks.known(block)) return;
      continue;
    }
    std::vector<std::byte> then = known.part(begin, size).all();
    if (then.size() != bytes.size()) return;
    for (const Flight& flight : flights) {
      const uint64_t from = std::clamp(flight.begin, begin, begin + size) - begin;
      const uint64_t to = std::clamp(flight.end, begin, begin + size) - begin;
      const uint64_t step = flight.row_bytes == 0 ? to - from : 1;
      for (uint64_t at = from; at < to; at += step) {
        if (flight.writes(begin + at)) std::copy_n(&bytes[at], step, &then[at]);
      }
    }
    if (!known.write(begin, then)) return;
  }
  allocation.last_known = whole ? std::move(now) : std::move(known);
}

format::Content HostWrites::last_content(const Allocation& allocation) {
  runs_.effects().take();
  if (allocation.last_known && !allocation.spoiled && options_.post != PostState::kNone) {
    const KeptBytes& known = allocation.last_known;
    auto content = contents_.take_content(known.size(), options_.post == PostState::kFull,
                                          allocations_.words(), nullptr, known.reader());
    if (content) return *std::move(content);
  }
  format::Content unknown;
  unknown.size_bytes = allocation.size_bytes;
  unknown.stored = false;
  return unknown;
}

Allocation* HostWrites::find_adopted_for(uint64_t address, uint64_t size_bytes) {
  if (Allocation* inside = allocations_.find_adopted(address, size_bytes)) return inside;
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    if (address < allocation->host_address + allocation->size_bytes &&
        allocation->host_address < address + size_bytes) {
      allocation->spoiled = true;
      finding(format::FindingKind::kNote, "host memory",
              "copy nodes and other copies write overlapping parts of it; its final contents are "
              "not compared");
    }
  }
  return nullptr;
}

void HostWrites::write_around_adopted(const RawCopy& raw) {
  const uint64_t from = raw.destination.address;
  const uint64_t to = from + copy_extent(raw, raw.destination);
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    const uint64_t base = allocation->host_address;
    const uint64_t begin = std::max(from, base);
    const uint64_t end = std::min(to, base + allocation->size_bytes);
    if (begin >= end) continue;
    const KeptBytes bytes = keep_host_bytes(store_, begin, end - begin);
    if (!bytes) continue;
    ledger_.write(*allocation, begin - base, bytes.size(), bytes.reader());
    for (const auto& [block, saved] : allocation->blocks.saved()) {
      const uint64_t first = base + block * kHostBlockBytes;
      const uint64_t low = std::max(begin, first);
      const uint64_t high = std::min(end, first + saved.bytes.size());
      if (low >= high) continue;
      allocation->blocks.write_saved(block, low - first, bytes.part(low - begin, high - low).all());
    }
    // The next comparison reads these blocks again, for other changes in them.
    for (uint64_t block = (begin - base) / kHostBlockBytes;
         block < allocation->blocks.count() && base + block * kHostBlockBytes < end; ++block) {
      allocation->blocks.know(block, kUnknownBlock);
    }
  }
}

void HostWrites::adopt_host_memory(const ExecutableGraph& graph, Work& work) {
  std::vector<HostRange> merged;
  std::vector<HostRange> reads;
  const auto plain = [&](const RawCopy& copy, const RawCopyEnd& end, MemorySide side,
                         std::vector<HostRange>& ranges) {
    if (side == MemorySide::kDevice) return;
    const uint64_t begin = end.address;
    const uint64_t size = copy_extent(copy, end);
    const Allocation* inside = allocations_.map().find(begin);
    if (size == 0 || (inside != nullptr && begin != inside->address + inside->size_bytes) ||
        allocations_.map().find_host(begin) != nullptr ||
        allocations_.find_adopted(begin, size) != nullptr) {
      return;
    }
    ranges.push_back({begin, begin + size});
  };
  for (const FlatNode& node : graph.nodes) {
    const auto* copy = std::get_if<RawCopy>(&node.action);
    if (copy == nullptr) continue;
    plain(*copy, copy->destination, copy->destination_side, merged);
    plain(*copy, copy->source, copy->source_side, reads);
  }
  if (merged.empty() && (reads.empty() || allocations_.adopted().empty())) return;
  for (const std::shared_ptr<Allocation>& old : allocations_.adopted()) {
    merged.push_back({old->host_address, old->host_address + old->size_bytes});
  }
  merge(merged);
  const auto beside = [&](const HostRange& read) {
    return std::ranges::none_of(merged, [&](const HostRange& range) {
      return read.begin < range.end && range.begin < read.end;
    });
  };
  while (true) {
    const auto apart = std::ranges::partition(reads, beside);
    if (apart.empty()) break;
    merged.insert(merged.end(), apart.begin(), apart.end());
    reads.erase(apart.begin(), apart.end());
    merge(merged);
  }
  for (const HostRange& range : merged) {
    if (allocations_.find_adopted(range.begin, range.end - range.begin) != nullptr) continue;
    // The new allocation replaces the old one; copies in flight into the old one would get lost.
    const bool in_flight = std::ranges::any_of(allocations_.adopted(), [&](const auto& old) {
      return range.begin <= old->host_address && old->host_address < range.end &&
             !flights_.over(old->id, 0, old->size_bytes).empty();
    });
    const bool ended = !in_flight || (options_.wait && device_.synchronize(kSettleTimeoutMs));
    if (!ended) {
      finding_now(format::FindingKind::kIncomplete, work.call,
                  "copy nodes of an earlier graph may still write a part of what this one reads: "
                  "--wait lets this launch wait for them");
    }
    auto made = std::make_shared<Allocation>();
    made->id = allocations_.next_id();
    made->kind = format::AllocationKind::kHostPinned;
    made->address = made->host_address = range.begin;
    made->size_bytes = range.end - range.begin;
    made->plain_host = true;
    made->made_by = thread_number();
    made->begun = true;
    runs_.effects().watch(*made);  // before the read: a host function may be writing
    const KeptBytes bytes = keep_host_bytes(store_, range.begin, range.end - range.begin);
    if (!bytes) {
      runs_.effects().unwatch(*made);
      finding_now(format::FindingKind::kIncomplete, work.call,
                  "a copy node's destination in host memory cannot be read");
      continue;
    }
    std::erase_if(allocations_.adopted(), [&](const std::shared_ptr<Allocation>& old) {
      if (old->host_address < range.begin || old->host_address >= range.end) return false;
      if (in_flight) {
        old->last_known = keep_host_bytes(store_, old->host_address, old->size_bytes);
      }
      traced_.end_allocation(*old, true, 0, last_content(*old));
      flights_.forget(old->id);
      runs_.effects().unwatch(*old);
      allocations_.forget_id(*old);
      return true;
    });
    (void)allocations_.new_id();
    std::vector<HashedBytes> blocks;
    std::vector<uint64_t> hashes;
    for (uint64_t block = 0; block * kHostBlockBytes < made->size_bytes; ++block) {
      const uint64_t offset = block * kHostBlockBytes;
      const KeptBytes part =
          bytes.part(offset, std::min(kHostBlockBytes, made->size_bytes - offset));
      const std::vector<std::byte> held = part.all();
      const uint64_t hash = XXH3_64bits(held.data(), held.size());
      hashes.push_back(hash);
      blocks.push_back({part, hash});
    }
    made->blocks.begin(std::move(hashes));
    for (uint64_t block = 0; block < blocks.size(); ++block)
      made->blocks.save(block, std::move(blocks[block]));
    format::AllocationBegin begin;
    begin.id = made->id;
    begin.kind = made->kind;
    begin.recorded_address = begin.host_address = range.begin;
    begin.size_bytes = made->size_bytes;
    auto content =
        contents_.take_content(bytes.size(), true, allocations_.words(), nullptr, bytes.reader());
    if (content) begin.initial = *std::move(content);
    allocations_.adopt(std::move(made));
    contents_.append_beginning(std::move(begin), bytes.reader());
  }
}

}  // namespace gfxgraph::recorder
