#include "recorder/contents/host_writes.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "recorder/contents/host_blocks.h"
#include "recorder/contents/host_memory.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {

void HostWrites::check_watched_host_writes() {
  const auto check = [&](const auto& allocations) {
    for (const std::shared_ptr<Allocation>& one : allocations) {
      if (!one->watched && !std::exchange(one->brought, false)) continue;
      check_host_writes(*one, 0, one->size_bytes);
    }
  };
  check(allocations_.map().host_visible());
  check(allocations_.adopted());
}

// For a changed block. If a running host function may have written it, the trace gets only the
// changed bytes, because the function may still write the rest of the block.
bool HostWrites::told_meanwhile(Allocation& allocation, uint64_t block,
                                std::span<const std::byte> bytes) {
  using Meanwhile = HostEffects::Meanwhile;
  std::vector<HostEffects::Change> changes;
  const std::optional<Meanwhile> meanwhile =
      runs_.changed_meanwhile(allocation, block, bytes, changes);
  if (!meanwhile) {  // a function ended after the bytes were read
    check_host_writes(allocation, block * kHostBlockBytes, 1);
    return true;
  }
  if (meanwhile == Meanwhile::kMixed) {
    finding(format::FindingKind::kIncomplete, "host function",
            "the program and a host function concurrently wrote memory that kernels read; which of "
            "the bytes they read is unknown");
  }
  for (const HostEffects::Change& change : changes) {
    write_from_host(allocation, change.offset_bytes, change.bytes.all());
  }
  if (meanwhile == Meanwhile::kTold) return true;
  runs_.rewritten(allocation, block);
  return false;
}

format::Content HostWrites::content_at_end(Allocation& allocation, const char* call) {
  const Contents::ReadingFor reading(contents_, call);
  events_.note_runs_if_any();
  // Any kernel may write device memory.
  bool written = !allocation.host_visible();
  for (const Flight& flight : flights_.over(allocation.id, 0, allocation.size_bytes)) {
    written = written || flight.named || !flight.kernel;
  }
  if (written) {
    if (!events_.streams_are_idle()) {
      finding(format::FindingKind::kNote, call,
              "during work that may write the memory; its final contents are unknown");
      format::Content unknown;
      unknown.size_bytes = allocation.size_bytes;
      unknown.stored = false;
      return unknown;
    }
    look_before_wait();
    land(flights_.land_all_kernels());
  }
  if (allocation.host_visible()) check_host_writes(allocation, 0, allocation.size_bytes);
  return contents_.post_content(allocation);
}

// By hash, without reading the bytes; most blocks are unchanged.
bool HostWrites::holds_what_was_saved(const Allocation& allocation, uint64_t block) {
  if (allocation.plain_host) return false;
  const auto saved = allocation.saved_blocks.find(block);
  return saved == allocation.saved_blocks.end() ||
         saved->second.hash == block_hash(allocation, block);
}

void HostWrites::check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                                   const Work* reader) {
  if (size_bytes == 0) return;
  runs_.take_effects();
  std::set<uint64_t> to_come;
  if (reader != nullptr) to_come = end_doubt(allocation, offset, size_bytes, *reader);
  const uint64_t first = offset / kHostBlockBytes;
  const uint64_t last = (offset + size_bytes - 1) / kHostBlockBytes;
  uint64_t run_begin = 0;
  uint64_t run_end = 0;
  // Of plain memory all bytes of the run, since a second read may differ; otherwise those of its
  // first block, and longer runs are read again.
  std::vector<std::byte> held;
  const auto write_run = [&] {
    if (run_begin == run_end) return;
    const uint64_t begin = run_begin * kHostBlockBytes;
    if (allocation.plain_host || run_end - run_begin == 1) {
      write_from_host(allocation, begin, held);
      return held.clear();
    }
    held.clear();
    const uint64_t end = std::min(run_end * kHostBlockBytes, allocation.size_bytes);
    write_from_host(allocation, begin, end - begin, [&](uint64_t at, std::span<std::byte> piece) {
      return read_program(allocation.host_address + begin + at, piece);
    });
  };
  BlockFlights flights(flights_, allocation);
  BlockReader blocks(allocation, last);
  for (uint64_t block = first; block <= last && block < allocation.known_blocks.size(); ++block) {
    if (to_come.contains(block)) continue;
    const std::span<const Flight> over =
        flights_.empty() ? std::span<const Flight>() : flights.over(block);
    if (!over.empty()) {
      if (reader == nullptr && named_kernel(over)) continue;
      const auto saved = allocation.saved_blocks.find(block);
      if (saved == allocation.saved_blocks.end()) continue;
      const auto read = blocks.block(block);
      if (!read) continue;
      if (!allocation.plain_host && saved->second.hash == XXH3_64bits(read->data(), read->size()))
        continue;
      check_around_flights(allocation, block, over,
                           std::vector<std::byte>(read->begin(), read->end()));
      continue;
    }
    const auto now = blocks.block(block);
    if (!now) continue;  // not the program either can have written it
    const uint64_t hash = XXH3_64bits(now->data(), now->size());
    if (hash == allocation.known_blocks[block]) continue;
    std::vector<std::byte> bytes(now->begin(), now->end());
    if (told_meanwhile(allocation, block, bytes)) continue;
    allocation.known_blocks[block] = hash;
    if (block != run_end || run_begin == run_end || held.size() >= ByteStore::kPieceBytes) {
      write_run();
      run_begin = block;
      held = std::move(bytes);
    } else if (allocation.plain_host) {
      held.insert(held.end(), bytes.begin(), bytes.end());
    }
    run_end = block + 1;
  }
  write_run();
}

void HostWrites::check_reachable_host_writes(const Work& reader, format::StreamId stream) {
  // New contents may make more buffers reachable; repeat until their number stays the same.
  for (bool again = true; again;) {
    again = false;
    size_t before = 0;
    size_t after = 0;
    for (const std::shared_ptr<Allocation>& a : allocations_.map().host_visible())
      before += a->reachable;
    for (const std::shared_ptr<Allocation>& a : allocations_.map().host_visible()) {
      if (!a->reachable) continue;
      const bool given = a->in_memory || reader.given.contains(a->id);
      check_host_writes(*a, 0, a->size_bytes, given || may_find(*a, stream) ? &reader : nullptr);
    }
    for (const std::shared_ptr<Allocation>& a : allocations_.map().host_visible())
      after += a->reachable;
    again = after != before;
  }
}

// Whether the next kernel of the stream, which was not given the memory, may read bytes in doubt
// that differ from those which an earlier such kernel found.
bool HostWrites::may_find(Allocation& allocation, format::StreamId stream) {
  if (!flights_.any_kernel() || allocation.saved_blocks.empty()) return false;
  const auto flights = flights_.over(allocation.id, 0, allocation.size_bytes, stream);
  if (std::ranges::none_of(flights, [](const Flight& one) { return one.named && one.done; }))
    return false;
  uint64_t hash = allocation.saved_blocks.size();
  for (const auto& [block, saved] : allocation.saved_blocks) {
    const auto now = host_block(allocation, block);
    if (now) hash = XXH3_64bits_withSeed(now->data(), now->size(), hash + block);
  }
  return std::exchange(allocation.found_in_doubt, hash) != hash;
}

void HostWrites::write_from_host(Allocation& allocation, uint64_t begin,
                                 std::span<const std::byte> bytes, bool in_doubt) {
  if (guard_.issuing().long_one()) {
    finding(format::FindingKind::kIncomplete, "host memory",
            "it changed while another thread launched kernels that may write it, in a call that "
            "took long; who wrote it, and before what, is unknown");
  }
  allocation.write_known(begin, bytes);
  // Not append(): it records host functions that ran, which is where this call may come from.
  events_.push(format::HostWrite{allocation.id, begin,
                                 contents_.make_content(bytes, true, allocations_.words(), nullptr,
                                                        Contents::host_addresses_in(allocation)),
                                 in_doubt});
}

// For any size: the content is read in pieces.
void HostWrites::write_from_host(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                                 const ReadPiece& read) {
  auto content = contents_.take_content(
      size_bytes, true, allocations_.words(), nullptr,
      [&](uint64_t offset, std::span<std::byte> piece) {
        if (!read(offset, piece)) return false;
        allocation.write_known(begin + offset, piece);
        return true;
      },
      Contents::host_addresses_in(allocation));
  if (!content) {
    allocation.last_known = {};  // the trace lacks this write
    return finding(format::FindingKind::kIncomplete, "host memory",
                   "the program made memory unreadable while its new contents were read");
  }
  events_.push(format::HostWrite{allocation.id, begin, *std::move(content)});
}

}  // namespace gfxgraph::recorder
