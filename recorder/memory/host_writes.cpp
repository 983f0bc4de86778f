#include "recorder/memory/host_writes.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "recorder/events/host_memory.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

// Comparing fewer blocks, or a smaller part of the memory, takes less time than a look at the page
// tables of all of it.
constexpr uint64_t kFewBlocks = 4;
constexpr uint64_t kSmallPart = 128;

}  // namespace

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
  if (allocation.host_visible()) check_last_host_writes(allocation);
  return contents_.post_content(allocation);
}

void HostWrites::check_last_host_writes(Allocation& allocation) {
  check_host_writes(allocation, 0, allocation.size_bytes, nullptr, Trust::kNothing);
}

void HostWrites::check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                                   const Work* reader, Trust trust) {
  if (size_bytes == 0 || !allocations_.map().follows_host()) return;
  runs_.effects().take();
  std::optional<std::set<uint64_t>> to_come;
  if (reader != nullptr) to_come = end_doubt(allocation, offset, size_bytes, *reader);
  const uint64_t first = offset / kHostBlockBytes;
  const uint64_t last = (offset + size_bytes - 1) / kHostBlockBytes;
  BlockStates& states = allocation.blocks;
  const uint64_t number = last - first + 1;
  const bool looked =
      number >= kFewBlocks && number >= states.count() / kSmallPart && look(allocation);
  const bool skip = looked && trust == Trust::kPages;
  const auto next = [&](uint64_t block) { return skip ? states.next_unsettled(block) : block; };
  const auto at_once = [&](uint64_t block) {
    return skip ? states.unsettled_run(block, BlockReader::kMostBlocks) : BlockReader::kMostBlocks;
  };
  const auto note_if_unseen = [&](uint64_t block) {
    if (looked && !skip && states.settled(block)) note_unseen_write(allocation, block);
  };
  uint64_t run_begin = 0;
  uint64_t run_end = 0;
  // Of plain memory all bytes of the run, since a second read may differ; otherwise those of its
  // first block, and longer runs are read again.
  std::vector<std::byte> held;
  const auto write_run = [&] {
    if (run_begin == run_end) return;
    const uint64_t begin = run_begin * kHostBlockBytes;
    if (allocation.plain_host || run_end - run_begin == 1) {
      ledger_.write(allocation, begin, held);
      return held.clear();
    }
    held.clear();
    const uint64_t end = std::min(run_end * kHostBlockBytes, allocation.size_bytes);
    ledger_.write(allocation, begin, end - begin, [&](uint64_t at, std::span<std::byte> piece) {
      return read_program(allocation.host_address + begin + at, piece);
    });
  };
  BlockFlights flights(flights_, allocation);
  BlockReader blocks(allocation, last);
  for (uint64_t block = next(first); block <= last && block < states.count();
       block = next(block + 1)) {
    if (to_come && to_come->contains(block)) continue;
    const std::span<const Flight> over =
        flights_.empty() ? std::span<const Flight>() : flights.over(block);
    if (!over.empty()) {
      if (reader == nullptr && named_kernel(over)) continue;
      const HashedBytes* const saved = states.saved(block);
      if (saved == nullptr) continue;
      const auto read = blocks.block(block, at_once(block));
      if (!read) continue;
      if (!allocation.plain_host && saved->hash == XXH3_64bits(read->data(), read->size())) {
        states.settle(block, saved->hash);
        continue;
      }
      // By the kernel, since end_doubt() looked. It may not be what it leaves there.
      if (to_come && named_kernel(over)) continue;
      note_if_unseen(block);
      ledger_.beside_work(allocation, block, over,
                          std::vector<std::byte>(read->begin(), read->end()));
      continue;
    }
    const auto now = blocks.block(block, at_once(block));
    if (!now) continue;  // not the program either can have written it
    const uint64_t hash = XXH3_64bits(now->data(), now->size());
    if (hash == states.known(block)) {
      states.settle(block, hash);
      continue;
    }
    note_if_unseen(block);
    std::vector<std::byte> bytes(now->begin(), now->end());
    const std::optional<bool> programs = ledger_.at_rest(allocation, block, bytes, hash);
    if (!programs) check_host_writes(allocation, block * kHostBlockBytes, 1);
    if (!programs.value_or(false)) continue;
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
      if (!a->reachable || a->unregisters()) continue;
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
  if (!flights_.any_kernel() || allocation.blocks.saved().empty()) return false;
  const auto flights = flights_.over(allocation.id, 0, allocation.size_bytes, stream);
  if (std::ranges::none_of(flights, [](const Flight& one) { return one.named && one.done; }))
    return false;
  // None of the other blocks is in doubt.
  uint64_t hash = allocation.blocks.saved().size();
  (void)any_suspect(allocation, 0, UINT64_MAX, [&](uint64_t block, const HashedBytes&) {
    const auto now = host_block(allocation, block);
    if (now) hash = XXH3_64bits_withSeed(now->data(), now->size(), hash + block);
    return false;
  });
  return std::exchange(allocation.found_in_doubt, hash) != hash;
}

}  // namespace gfxgraph::recorder
