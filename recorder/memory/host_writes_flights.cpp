// Work in flight over memory that the host sees. See host_writes.h.
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "recorder/events/host_memory.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/memory/host_writes.h"
#include "recorder/objects/devices.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

// With --wait, the recorder waits this long for a kernel to end, after which nothing about the
// kernel is in doubt. The time is halved, down to 0, for each kernel that takes longer and doubled
// for each that does not.
constexpr auto kMostPatience = std::chrono::microseconds(10'000);
constexpr auto kLeastPatience = std::chrono::microseconds(100);

// The distance, in blocks, between the blocks that a flight writes only in part. A plain range can
// do so only in its first and last block, a box with gaps between its rows in every block.
uint64_t blocks_to_next(const Flight& flight) {
  if (flight.row_bytes != 0) return 1;
  const uint64_t last = (flight.end - 1) / kHostBlockBytes;
  return std::max<uint64_t>(last - flight.begin / kHostBlockBytes, 1);
}

}  // namespace

// Takes the current bytes as known: the device wrote them, the trace has them, or they are in
// doubt.
void HostWrites::take_in(Allocation& allocation, BlockLedger::Writer writer) {
  BlockStates& states = allocation.blocks;
  BlockFlights flights(flights_, allocation);
  const bool everywhere = flights.over_everything();
  // Since the look before the call, only the program can have written memory that no kernel in
  // flight was given: the next look finds it.
  if (everywhere && states.all_settled() && states.copies_complete() &&
      !named_kernel(flights.over(0))) {
    states.wake();
    if (states.all_settled()) return;
  }
  const bool looked = look(allocation);
  if (everywhere) states.wake();
  // Settled blocks are as they were saved, or if nothing is in flight, as they are known.
  const bool at_rest = flights.over_nothing() && states.saved().empty();
  const bool skip = looked && ((everywhere && states.copies_complete()) || at_rest);
  const auto next = [&](uint64_t block) { return skip ? states.next_unsettled(block) : block; };
  constexpr uint64_t kPieceBlocks = ByteStore::kPieceBytes / kHostBlockBytes;
  std::vector<std::byte> piece;  // a copy: the device may write on
  for (uint64_t first = next(0); first * kHostBlockBytes < allocation.size_bytes;
       first = next(first)) {
    uint64_t behind = std::min(first / kPieceBlocks * kPieceBlocks + kPieceBlocks, states.count());
    if (behind <= first) break;
    if (skip) behind = first + states.unsettled_run(first, behind - first);
    const uint64_t begin = first * kHostBlockBytes;
    const size_t size = std::min(behind * kHostBlockBytes, allocation.size_bytes) - begin;
    first = behind;
    if (nothing_to_take_in(allocation, begin, size, flights)) continue;
    piece.resize(size);
    count_compared((size + kHostBlockBytes - 1) / kHostBlockBytes);
    if (read_program(allocation.host_address + begin, piece))
      take_in(allocation, begin, piece, writer);
  }
  if (everywhere) states.note_saved();
}

// True in the usual case: work in flight has not changed these blocks since the last look.
bool HostWrites::nothing_to_take_in(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                                    BlockFlights& flights) {
  if (allocation.plain_host) return false;
  BlockStates& states = allocation.blocks;
  auto saved = states.saved().lower_bound(begin / kHostBlockBytes);
  BlockReader blocks(allocation, (begin + size_bytes - 1) / kHostBlockBytes);
  for (uint64_t block = begin / kHostBlockBytes; block * kHostBlockBytes < begin + size_bytes;
       ++block, ++saved) {
    if (saved == states.saved().end() || saved->first != block) return false;
    if (states.doubted(block)) continue;
    if (flights.over(block).empty() || saved->second.hash != blocks.hash(block)) return false;
    states.settle(block, saved->second.hash);
  }
  return true;
}

// `now`: the current bytes from offset `begin` on.
void HostWrites::take_in(Allocation& allocation, uint64_t begin, std::span<const std::byte> now,
                         BlockLedger::Writer writer) {
  BlockStates& states = allocation.blocks;
  std::vector<uint64_t> fresh;  // blocks to save as they are now
  BlockFlights flights(flights_, allocation);
  const auto bytes_of = [&](uint64_t block) {
    const uint64_t offset = block * kHostBlockBytes - begin;
    return now.subspan(offset, std::min<uint64_t>(kHostBlockBytes, now.size() - offset));
  };
  for (uint64_t block = begin / kHostBlockBytes;
       block * kHostBlockBytes < begin + now.size() && block < states.count(); ++block) {
    if (ledger_.in_launch(allocation, block, flights.over(block), bytes_of(block), writer))
      fresh.push_back(block);
  }
  // If most of the piece is to be saved, one copy serves all of its blocks.
  KeptBytes kept;
  if (fresh.size() * kHostBlockBytes * 2 > now.size()) kept = store_.keep(now);
  for (const uint64_t block : fresh) {
    const std::span<const std::byte> bytes = bytes_of(block);
    const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
    const KeptBytes part =
        kept ? kept.part(block * kHostBlockBytes - begin, bytes.size()) : store_.keep(bytes);
    states.save(block, {part, hash});
    states.settle(block, hash);
  }
}

void HostWrites::take_off(Work& work, format::StreamId stream) {
  runs_.deferred().run_beside_functions(work.flights, work, stream);
  work.first_own = flights_.issued();
  work.told_numbers.resize(work.told_flights.size());
  for (size_t i = 0; i < work.flights.size(); ++i) {
    Flight& flight = work.flights[i];
    Allocation* allocation = allocations_.living(flight.allocation);
    if (allocation == nullptr) continue;
    const uint64_t first = flight.begin / kHostBlockBytes;
    const uint64_t last = (flight.end - 1) / kHostBlockBytes;
    for (uint64_t block = first; block <= last; block += blocks_to_next(flight)) {
      const uint64_t begin = block * kHostBlockBytes;
      const uint64_t end = std::min(begin + kHostBlockBytes, allocation->size_bytes);
      if (flight.row_bytes == 0 && flight.begin <= begin && end <= flight.end) continue;
      if (allocation->blocks.saved(block) != nullptr) continue;
      if (allocation->last_known) {  // the memory may have changed since
        allocation->blocks.save(
            block, store_.keep_hashed(allocation->last_known.part(begin, end - begin).all()));
      } else if (const auto bytes = host_block(*allocation, block)) {
        allocation->blocks.save(block, store_.keep_hashed(*bytes));
      }
    }
    flight.late = work.runs != 0;
    const uint32_t number = flights_.issue(stream, flight);
    for (size_t function = 0; function < work.told_numbers.size(); ++function) {
      if (work.told_flights[function].contains(i)) work.told_numbers[function].insert(number);
    }
  }
  work.flights.clear();
  if (!runs_.any_ran()) return;
  // Host functions began during this call. The program cannot have learned of the work's end from
  // them yet, but the current bytes may already be what this work wrote.
  let_kernels_fly(work, stream);
  take_in_kernels(work, false);
  events_.note_runs();
}

void HostWrites::let_kernels_fly(Work& work, format::StreamId stream) {
  if (std::exchange(work.kernels_fly, true)) return;
  for (Flight& flight : work.may_write) {
    if (allocations_.living(flight.allocation) == nullptr) continue;
    flight.late = work.runs != 0;
    flights_.issue(stream, flight);
  }
}

void HostWrites::take_in_kernels(const Work& work, bool named_only) {
  runs_.effects().take();
  for (const Flight& flight : work.may_write) {
    if (named_only && !flight.named) continue;
    Allocation* const allocation = allocations_.living(flight.allocation);
    if (allocation == nullptr) continue;
    take_in(*allocation, BlockLedger::writer_beside(*allocation, flight.named));
  }
}

bool HostWrites::idle_within(Handle stream, std::chrono::microseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  auto pause = std::chrono::microseconds(1);
  while (true) {
    const StreamState state = device_.stream_state(const_cast<void*>(stream));
    if (state != StreamState::kBusy) return state == StreamState::kIdle;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(500));
  }
}

bool HostWrites::kernels_end_soon(Handle stream) {
  // Only its own thread can query a per-thread stream, and would see the result as its last error.
  if (stream == per_thread_stream()) return waits_.patient && device_.synchronize(kSettleTimeoutMs);
  if (!options_.wait) return idle_within(stream, std::chrono::microseconds(0));
  if (waits_.patient) return idle_within(stream, std::chrono::milliseconds(kSettleTimeoutMs));
  const bool ended = idle_within(stream, waits_.patience);
  if (ended) {
    waits_.patience = std::clamp(waits_.patience * 2, kLeastPatience, kMostPatience);
  } else {
    waits_.patience =
        waits_.patience < kLeastPatience ? std::chrono::microseconds(0) : waits_.patience / 2;
  }
  return ended;
}

void HostWrites::kernels_take_off(Work& work, format::StreamId stream) {
  if (work.may_write.empty()) return;
  // The query whether the kernel has already ended is the most expensive part of a launch:
  // HIP 5.2.3 inserts a marker into the stream for it. Without a block in doubt the query is
  // skipped, and the bytes that the kernel has written so far are taken in below in either case.
  const bool ask = options_.wait || std::ranges::any_of(work.may_write, [&](const Flight& flight) {
                     const Allocation* const allocation = allocations_.living(flight.allocation);
                     return allocation != nullptr && !allocation->blocks.doubted().empty();
                   });
  if (ask && kernels_end_soon(work.stream)) {
    // Before land(), which attributes changes in memory that no kernel was given to the program.
    take_in_kernels(work, true);
    // take_in() skips blocks in doubt, also those that this kernel wrote. Its flights are issued,
    // so that land() compares these blocks as it does when any kernel ends.
    for (const Flight& flight : work.may_write) {
      const Allocation* const allocation = allocations_.living(flight.allocation);
      if (!work.kernels_fly && allocation != nullptr && !allocation->blocks.doubted().empty())
        flights_.issue(stream, flight);
    }
    land(flights_.land_kernels(stream));
  } else {
    let_kernels_fly(work, stream);
  }
  take_in_kernels(work, false);
}

// Whether a kernel in flight that was given the allocation leaves in doubt who wrote a part of it.
bool HostWrites::in_doubt(Allocation& allocation, uint64_t first_block, uint64_t last_block) {
  runs_.effects().take();
  BlockFlights flights(flights_, allocation);
  return any_suspect(
      allocation, first_block, last_block, [&](uint64_t block, const HashedBytes& saved) {
        return allocation.blocks.doubted(block) ||
               BlockLedger::changed_in_flight(allocation, block, saved, flights.over(block));
      });
}

void HostWrites::look_before_wait() {
  if (!flights_.any_kernel()) return;
  runs_.effects().take();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
    BlockStates& states = allocation->blocks;
    if (states.saved().empty()) continue;
    BlockFlights flights(flights_, *allocation);
    if (flights.over_everything() && !named_kernel(flights.over(0))) continue;
    (void)any_suspect(*allocation, 0, UINT64_MAX, [&](uint64_t block, const HashedBytes& saved) {
      if (!states.doubted(block) &&
          BlockLedger::changed_in_flight(*allocation, block, saved, flights.over(block))) {
        states.doubt(block);
      }
      return false;
    });
  }
}

// With --wait, waits for the kernels that leave these bytes in doubt. Returns whether they ended.
bool HostWrites::doubted_kernels_end(const Allocation& allocation, uint64_t offset,
                                     uint64_t size_bytes) {
  if (waits_.kernels_wait_for_host || !options_.wait) return false;
  std::set<format::StreamId> busy;
  for (const Flight& flight : flights_.over(allocation.id, offset, offset + size_bytes)) {
    if (flight.named) busy.insert(flight.stream);
  }
  for (const format::StreamId id : busy) {
    const std::optional<Handle> stream = events_.streams().handle_of(id);
    const bool ended = stream ? idle_within(*stream, std::chrono::milliseconds(kSettleTimeoutMs))
                              : device_.synchronize(kSettleTimeoutMs);
    if (!ended) return false;
    if (glance_ != 0) glance_ = ++glances_;  // time has passed
    land(flights_.land_kernels(id));
  }
  return true;
}

// Resolves doubt about bytes that the work to be issued may read. Returns the blocks that stay in
// doubt until the stream reaches the reader; the trace gets their bytes then. Nothing: they cannot
// be read.
std::optional<std::set<uint64_t>> HostWrites::end_doubt(Allocation& allocation, uint64_t offset,
                                                        uint64_t size_bytes, const Work& reader) {
  using Blocks = std::set<uint64_t>;
  if (!flights_.any_kernel() || size_bytes == 0) return Blocks{};
  const uint64_t first = offset / kHostBlockBytes;
  const uint64_t last = (offset + size_bytes - 1) / kHostBlockBytes;
  if (!in_doubt(allocation, first, last)) return Blocks{};
  look_before_wait();
  waits_.patient = true;
  if (doubted_kernels_end(allocation, offset, size_bytes)) return Blocks{};
  waits_.patient = false;
  waits_.kernels_wait_for_host = true;
  std::optional<Blocks> read = read_doubted(allocation, first, last, reader);
  if (!read) finding(format::FindingKind::kIncomplete, "host memory", kLostToReader);
  return read;
}

void HostWrites::land(const std::vector<Flight>& landing) {
  runs_.effects().take();
  std::set<std::pair<format::AllocationId, uint64_t>> blocks;
  std::map<format::AllocationId, bool> whole;
  for (const Flight& flight : landing) {
    Allocation* const allocation = allocations_.living(flight.allocation);
    const auto [known, first] = whole.try_emplace(flight.allocation, false);
    if (first && allocation != nullptr) known->second = lands_as_a_whole(*allocation, landing);
    if (known->second) {  // the rest is settled
      if (!first) continue;
      const BlockStates& states = allocation->blocks;
      for (const uint64_t block : states.doubted()) blocks.emplace(flight.allocation, block);
      for (uint64_t block = states.next_unsettled(0); block < states.count();
           block = states.next_unsettled(block + 1)) {
        blocks.emplace(flight.allocation, block);
      }
      continue;
    }
    for (uint64_t block = flight.begin / kHostBlockBytes; block * kHostBlockBytes < flight.end;
         ++block) {
      blocks.emplace(flight.allocation, block);
    }
  }
  // Reads each block once, so that the trace and known_blocks get the same bytes. Plain memory that
  // the program has freed may change at any time; the recorder's own allocations may reuse it.
  std::map<Allocation*, KeptBytes> plain;
  for (const auto& [id, block] : blocks) {
    Allocation* allocation = allocations_.living(id);
    if (allocation == nullptr || !allocation->plain_host) continue;
    const auto [all, first] = plain.try_emplace(allocation);
    if (!first) continue;
    all->second = keep_host_bytes(store_, allocation->host_address, allocation->size_bytes);
  }
  // Before the ledger: writes of the program over landed bytes come after them.
  for (const auto& [allocation, now] : plain) land_plain(*allocation, landing, now);
  const auto left_over = [&](format::AllocationId id, uint64_t block) {
    const uint64_t base = block * kHostBlockBytes;
    return flights_.over(id, base, base + kHostBlockBytes);
  };
  for (const auto& [id, block] : blocks) {
    Allocation* allocation = allocations_.living(id);
    if (allocation == nullptr) continue;
    if (!allocation->plain_host) {
      if (const auto now = host_block(*allocation, block)) {
        ledger_.ended(*allocation, block, landing, left_over(id, block), *now);
      }
      continue;
    }
    const KeptBytes& now = plain.at(allocation);
    const uint64_t begin = std::min<uint64_t>(block * kHostBlockBytes, now.size());
    ledger_.ended(*allocation, block, landing, left_over(id, block),
                  now.part(begin, std::min(kHostBlockBytes, now.size() - begin)).all());
  }
  for (const auto& [id, as_a_whole] : whole) {
    Allocation* const allocation = as_a_whole ? allocations_.living(id) : nullptr;
    if (allocation == nullptr || !flights_.over(id, 0, allocation->size_bytes).empty()) continue;
    allocation->blocks.rest();
    allocation->found_in_doubt = 0;
  }
}

// Whether only kernels have landed and only kernels are left, and nothing is to be done for blocks
// that are settled, but what BlockStates::rest() does when none is left.
bool HostWrites::lands_as_a_whole(Allocation& allocation, const std::vector<Flight>& landing) {
  if (allocation.plain_host || late_reads_.any() || !look(allocation)) return false;
  const auto is_whole = [&](const Flight& one) {
    return one.kernel && !one.late && one.begin == 0 && one.end == allocation.size_bytes;
  };
  return std::ranges::all_of(
             landing,
             [&](const Flight& one) { return one.allocation != allocation.id || is_whole(one); }) &&
         std::ranges::all_of(flights_.over(allocation.id, 0, allocation.size_bytes), is_whole);
}

void HostWrites::host_learns(bool late) {
  runs_.deferred().sources_in_flight().host_learned(late);
  if (late_reads_.any()) late_reads_.may_overtake({}, true, std::nullopt);
}

void HostWrites::may_overtake_reads(const Work& work) {
  if (!late_reads_.any()) return;
  const bool calls_host = work.runs != 0;
  late_reads_.may_overtake(work.flights, calls_host, work.stream);
  late_reads_.may_overtake(work.may_write, calls_host, work.stream);
}

// Returns the blocks for which a host write precedes the reader's event. Its bytes are read when
// the stream reaches the reader. Nothing if the stream cannot be read.
std::optional<std::set<uint64_t>> HostWrites::read_doubted(Allocation& allocation,
                                                           uint64_t first_block,
                                                           uint64_t last_block,
                                                           const Work& reader) {
  if (allocation.plain_host) return std::nullopt;
  std::vector<DeferredRead::Block> blocks;
  std::set<uint64_t> numbers;
  BlockFlights flights(flights_, allocation);
  (void)any_suspect(
      allocation, first_block, last_block, [&](uint64_t block, const HashedBytes& saved) {
        if (!allocation.blocks.doubted(block) &&
            !BlockLedger::changed_in_flight(allocation, block, saved, flights.over(block))) {
          return false;
        }
        numbers.insert(block);
        const uint64_t base = block * kHostBlockBytes;
        blocks.push_back({base, 0, saved.bytes,
                          flights_.over(allocation.id, base, base + kHostBlockBytes,
                                        events_.stream_id(reader.stream))});
        return false;
      });
  // One read for adjacent blocks; the gaps between others may be large.
  for (size_t first = 0; first < blocks.size();) {
    size_t end_of_run = first + 1;
    while (end_of_run < blocks.size() &&
           blocks[end_of_run].offset_bytes ==
               blocks[end_of_run - 1].offset_bytes + blocks[end_of_run - 1].saved.size()) {
      ++end_of_run;
    }
    const auto run = std::span(blocks).subspan(first, end_of_run - first);
    if (!read_run(allocation, run, reader)) return std::nullopt;
    first = end_of_run;
  }
  if (!blocks.empty()) finding(format::FindingKind::kNote, "host memory", BlockLedger::kInDoubt);
  return numbers;
}

// Reads adjacent blocks. Returns false if the stream cannot be read.
bool HostWrites::read_run(const Allocation& allocation, std::span<DeferredRead::Block> blocks,
                          const Work& reader) {
  if (DeviceStreams::device_of(reader.stream) != 0 || allocation.unregisters()) return false;
  const uint64_t begin = blocks.front().offset_bytes;
  for (DeferredRead::Block& block : blocks) block.place_bytes = block.offset_bytes - begin;
  const uint64_t size = blocks.back().place_bytes + blocks.back().saved.size();
  std::unique_ptr<StreamRead> read =
      device_.read_behind(const_cast<void*>(reader.stream), allocation.address + begin, size, true);
  if (!read) return false;
  auto events = std::make_unique<std::vector<format::Event>>();
  journal_.stamp(events->emplace_back());
  late_reads_.add(
      {.read = std::move(read),
       .words = allocations_.words_now(),
       .item = events.get(),
       .writes = events.get(),
       .allocation = allocation.id,
       .blocks = {std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end())},
       .number = flights_.issue_read(events_.stream_id(reader.stream))});
  journal_.enqueue(journal_.queue().draw(), std::move(events));
  return true;
}

}  // namespace gfxgraph::recorder
