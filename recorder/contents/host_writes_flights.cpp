// Work in flight over memory that the host sees. See host_writes.h.
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "recorder/contents/host_blocks.h"
#include "recorder/contents/host_memory.h"
#include "recorder/contents/host_writes.h"
#include "recorder/model/devices.h"
#include "recorder/program_memory.h"
#include "recorder/recorder_internal.h"

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

bool has_kernel(std::span<const Flight> flights) {
  return std::any_of(flights.begin(), flights.end(), [](const Flight& one) { return one.kernel; });
}

}  // namespace

// Records the changes of a block, by the program or a kernel, that no copy among `flights` made.
void HostWrites::check_around_flights(Allocation& allocation, uint64_t block,
                                      std::span<const Flight> flights,
                                      std::span<const std::byte> now) {
  runs_.take_effects();
  const uint64_t base = block * kHostBlockBytes;
  const auto saved = allocation.saved_blocks.find(block);
  if (saved == allocation.saved_blocks.end()) return;
  const bool unknown = contents_.is_being_read(allocation.id, base);
  if (!unknown && saved->second.holds(now)) return;
  std::vector<std::byte> then = saved->second.bytes.all();
  if (now.size() != then.size()) return;
  std::vector<bool> written = changed_beside_copies(now, then, base, flights);
  if (unknown) {
    for (size_t i = 0; i < now.size(); ++i) written[i] = !copied(flights, base + i);
    contents_.supersede_reads(allocation.id, base);
  }
  take_whole_pointers(now, allocations_.words(), written);
  const bool named = named_kernel(flights);
  bool any = false;
  for (size_t i = 0; i < now.size(); ++i) {
    size_t end = i;
    while (end < now.size() && written[end]) ++end;
    if (end == i) continue;
    write_from_host(allocation, base + i, now.subspan(i, end - i), named);
    std::copy(now.begin() + i, now.begin() + end, then.begin() + i);
    any = true;
    i = end;
  }
  if (any) saved->second = store_.keep_hashed(then);
  if (!any || !has_kernel(flights)) return;
  // A kernel may write the block again; once it is known to have ended, that is recorded as well.
  allocation.doubted_blocks.insert(block);
  if (named) finding(format::FindingKind::kNote, "host memory", kInDoubt);
}

// Of what changes while this thread launches a kernel, or waits for one.
HostWrites::Writer HostWrites::writer_beside(const Allocation& allocation, bool named) noexcept {
  if (allocation.used_by_others) return Writer::kEither;
  if (allocation.made_by == thread_number()) return Writer::kDevice;
  return named ? Writer::kEither : Writer::kProgram;
}

// Takes the current bytes as known: the device wrote them, the trace has them, or they are in
// doubt.
void HostWrites::take_in(Allocation& allocation, Writer writer) {
  const uint64_t all = allocation.size_bytes;
  std::vector<std::byte> piece;  // a copy: the device may write on
  BlockFlights flights(flights_, allocation);
  for (uint64_t begin = 0; begin < all; begin += ByteStore::kPieceBytes) {
    const size_t size = std::min<uint64_t>(ByteStore::kPieceBytes, all - begin);
    if (nothing_to_take_in(allocation, begin, size, flights)) continue;
    piece.resize(size);
    if (read_program(allocation.host_address + begin, piece))
      take_in(allocation, begin, piece, writer);
  }
}

// True in the usual case: work in flight has not changed these blocks since the last look.
bool HostWrites::nothing_to_take_in(const Allocation& allocation, uint64_t begin,
                                    uint64_t size_bytes, BlockFlights& flights) {
  if (allocation.plain_host) return false;
  auto saved = allocation.saved_blocks.lower_bound(begin / kHostBlockBytes);
  BlockReader blocks(allocation, (begin + size_bytes - 1) / kHostBlockBytes);
  for (uint64_t block = begin / kHostBlockBytes; block * kHostBlockBytes < begin + size_bytes;
       ++block, ++saved) {
    if (saved == allocation.saved_blocks.end() || saved->first != block) return false;
    if (allocation.doubted_blocks.contains(block)) continue;
    if (flights.over(block).empty() || saved->second.hash != blocks.hash(block)) return false;
  }
  return true;
}

// `now`: the current bytes from offset `begin` on.
void HostWrites::take_in(Allocation& allocation, uint64_t begin, std::span<const std::byte> now,
                         Writer writer) {
  std::vector<uint64_t> fresh;  // blocks to save as they are now
  BlockFlights flights(flights_, allocation);
  const auto bytes_of = [&](uint64_t block) {
    const uint64_t offset = block * kHostBlockBytes - begin;
    return now.subspan(offset, std::min<uint64_t>(kHostBlockBytes, now.size() - offset));
  };
  for (uint64_t block = begin / kHostBlockBytes;
       block * kHostBlockBytes < begin + now.size() && block < allocation.known_blocks.size();
       ++block) {
    if (allocation.doubted_blocks.contains(block)) continue;
    const uint64_t base = block * kHostBlockBytes;
    const std::span<const std::byte> bytes = bytes_of(block);
    const std::span<const Flight> over = flights.over(block);
    const auto saved = allocation.saved_blocks.find(block);
    if (over.empty() || saved == allocation.saved_blocks.end()) {
      const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
      if (writer != Writer::kDevice && hash != allocation.known_blocks[block]) {
        write_from_host(allocation, base, bytes, writer == Writer::kEither);
        if (!over.empty()) allocation.doubted_blocks.insert(block);
      }
      if (writer != Writer::kDevice || over.empty()) allocation.known_blocks[block] = hash;
      if (!over.empty()) fresh.push_back(block);
      continue;
    }
    if (saved->second.holds(bytes)) continue;
    if (writer != Writer::kDevice) {  // a later look finds it
      if (writer == Writer::kEither) allocation.doubted_blocks.insert(block);
      continue;
    }
    std::vector<std::byte> then = saved->second.bytes.all();
    if (then.size() != bytes.size()) continue;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!copied(over, base + i)) then[i] = bytes[i];
    }
    saved->second = store_.keep_hashed(then);
  }
  // If most of the piece is to be saved, one copy serves all of its blocks.
  KeptBytes kept;
  if (fresh.size() * kHostBlockBytes * 2 > now.size()) kept = store_.keep(now);
  for (const uint64_t block : fresh) {
    const std::span<const std::byte> bytes = bytes_of(block);
    HashedBytes& saved = allocation.saved_blocks[block];
    if (!kept) {
      saved = store_.keep_hashed(bytes);
      continue;
    }
    saved.bytes = kept.part(block * kHostBlockBytes - begin, bytes.size());
    saved.hash = XXH3_64bits(bytes.data(), bytes.size());
  }
}

void HostWrites::take_off(Work& work, format::StreamId stream) {
  runs_.run_beside_functions(work.flights, work, stream);
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
      if (allocation->saved_blocks.contains(block)) continue;
      if (allocation->last_known) {  // the memory may have changed since
        allocation->saved_blocks[block] =
            store_.keep_hashed(allocation->last_known.part(begin, end - begin).all());
      } else if (const auto bytes = host_block(*allocation, block)) {
        allocation->saved_blocks.emplace(block, store_.keep_hashed(*bytes));
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
  runs_.take_effects();
  for (const Flight& flight : work.may_write) {
    if (named_only && !flight.named) continue;
    Allocation* const allocation = allocations_.living(flight.allocation);
    if (allocation == nullptr) continue;
    take_in(*allocation, writer_beside(*allocation, flight.named));
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
  if (stream == per_thread_stream()) return patient_ && device_.synchronize(kSettleTimeoutMs);
  if (!options_.wait) return idle_within(stream, std::chrono::microseconds(0));
  if (patient_) return idle_within(stream, std::chrono::milliseconds(kSettleTimeoutMs));
  const bool ended = idle_within(stream, patience_);
  if (ended) {
    patience_ = std::clamp(patience_ * 2, kLeastPatience, kMostPatience);
  } else {
    patience_ = patience_ < kLeastPatience ? std::chrono::microseconds(0) : patience_ / 2;
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
                     return allocation != nullptr && !allocation->doubted_blocks.empty();
                   });
  if (ask && kernels_end_soon(work.stream)) {
    // Before land(), which attributes changes in memory that no kernel was given to the program.
    take_in_kernels(work, true);
    // take_in() skips blocks in doubt, also those that this kernel wrote. Its flights are issued,
    // so that land() compares these blocks as it does when any kernel ends.
    for (const Flight& flight : work.may_write) {
      const Allocation* const allocation = allocations_.living(flight.allocation);
      if (!work.kernels_fly && allocation != nullptr && !allocation->doubted_blocks.empty())
        flights_.issue(stream, flight);
    }
    land(flights_.land_kernels(stream));
  } else {
    let_kernels_fly(work, stream);
  }
  take_in_kernels(work, false);
}

// Whether bytes of the block changed that no copy in flight writes, while a kernel in flight was
// given the memory and may have written them.
bool HostWrites::changed_in_flight(const Allocation& allocation, uint64_t block,
                                   const HashedBytes& saved, std::span<const Flight> over) {
  if (!named_kernel(over) || holds_what_was_saved(allocation, block)) return false;
  const std::optional<std::vector<std::byte>> now = host_block(allocation, block);
  if (!now || saved.holds(*now)) return false;
  const std::vector<std::byte> then = saved.bytes.all();
  for (size_t i = 0; i < std::min(now->size(), then.size()); ++i) {
    if ((*now)[i] != then[i] && !copied(over, block * kHostBlockBytes + i)) return true;
  }
  return false;
}

// Whether a kernel in flight that was given the allocation leaves in doubt who wrote a part of it.
bool HostWrites::in_doubt(Allocation& allocation, uint64_t first_block, uint64_t last_block) {
  runs_.take_effects();
  const auto end = allocation.saved_blocks.upper_bound(last_block);
  BlockFlights flights(flights_, allocation);
  for (auto at = allocation.saved_blocks.lower_bound(first_block); at != end; ++at) {
    const auto& [block, saved] = *at;
    if (allocation.doubted_blocks.contains(block) ||
        changed_in_flight(allocation, block, saved, flights.over(block))) {
      return true;
    }
  }
  return false;
}

void HostWrites::look_before_wait() {
  if (!flights_.any_kernel()) return;
  runs_.take_effects();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
    BlockFlights flights(flights_, *allocation);
    for (const auto& [block, saved] : allocation->saved_blocks) {
      if (!allocation->doubted_blocks.contains(block) &&
          changed_in_flight(*allocation, block, saved, flights.over(block))) {
        allocation->doubted_blocks.insert(block);
      }
    }
  }
}

// With --wait, waits for the kernels that leave these bytes in doubt. Returns whether they ended.
bool HostWrites::doubted_kernels_end(const Allocation& allocation, uint64_t offset,
                                     uint64_t size_bytes) {
  if (kernels_wait_for_host_ || !options_.wait) return false;
  std::set<format::StreamId> busy;
  for (const Flight& flight : flights_.over(allocation.id, offset, offset + size_bytes)) {
    if (flight.named) busy.insert(flight.stream);
  }
  for (const format::StreamId id : busy) {
    const std::optional<Handle> stream = events_.streams().handle_of(id);
    const bool ended = stream ? idle_within(*stream, std::chrono::milliseconds(kSettleTimeoutMs))
                              : device_.synchronize(kSettleTimeoutMs);
    if (!ended) return false;
    land(flights_.land_kernels(id));
  }
  return true;
}

// Resolves doubt about bytes that the work to be issued may read. Returns the blocks that stay in
// doubt until the stream reaches the reader; the trace gets their bytes then.
std::set<uint64_t> HostWrites::end_doubt(Allocation& allocation, uint64_t offset,
                                         uint64_t size_bytes, const Work& reader) {
  if (!flights_.any_kernel() || size_bytes == 0) return {};
  const uint64_t first = offset / kHostBlockBytes;
  const uint64_t last = (offset + size_bytes - 1) / kHostBlockBytes;
  if (!in_doubt(allocation, first, last)) return {};
  look_before_wait();
  patient_ = true;
  if (doubted_kernels_end(allocation, offset, size_bytes)) return {};
  patient_ = false;
  kernels_wait_for_host_ = true;
  if (auto read = read_doubted(allocation, first, last, reader)) return std::move(*read);
  finding(format::FindingKind::kIncomplete, "host memory", kLostToReader);
  return {};
}

void HostWrites::land(const std::vector<Flight>& landing) {
  runs_.take_effects();
  std::set<std::pair<format::AllocationId, uint64_t>> blocks;
  for (const Flight& flight : landing) {
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
  // Before land_block(): writes of the program over landed bytes come after them.
  for (const auto& [allocation, now] : plain) land_plain(*allocation, landing, now);
  for (const auto& [id, block] : blocks) {
    Allocation* allocation = allocations_.living(id);
    if (allocation == nullptr) continue;
    if (!allocation->plain_host) {
      if (const auto now = host_block(*allocation, block))
        land_block(*allocation, block, landing, *now);
      continue;
    }
    const KeptBytes& now = plain.at(allocation);
    const uint64_t begin = std::min<uint64_t>(block * kHostBlockBytes, now.size());
    land_block(*allocation, block, landing,
               now.part(begin, std::min(kHostBlockBytes, now.size() - begin)).all());
  }
}

void HostWrites::land_block(Allocation& allocation, uint64_t block, std::span<const Flight> landing,
                            std::span<const std::byte> now) {
  const uint64_t base = block * kHostBlockBytes;
  const std::vector<Flight> left = flights_.over(allocation.id, base, base + kHostBlockBytes);
  std::vector<Flight> over = left;
  bool late = false;
  bool kernel = false;
  bool copies = false;
  for (const Flight& flight : landing) {
    if (flight.allocation != allocation.id || flight.begin >= base + kHostBlockBytes ||
        flight.end <= base) {
      continue;
    }
    over.push_back(flight);
    over.back().done = true;
    late = late || flight.late;
    copies = copies || !flight.kernel;
    kernel = kernel || (flight.kernel && flight.named);
  }
  // Changes that no copy made are the program's; after kernels, only blocks in doubt are compared.
  const bool doubted = allocation.doubted_blocks.contains(block) ||
                       writer_beside(allocation, true) != Writer::kDevice;
  if (kernel ? doubted : !named_kernel(left)) {
    check_around_flights(allocation, block, over, now);
  }
  const auto saved = allocation.saved_blocks.find(block);
  if (left.empty()) {
    if (saved != allocation.saved_blocks.end()) allocation.saved_blocks.erase(saved);
    allocation.doubted_blocks.erase(block);
    allocation.found_in_doubt = 0;
  }
  if (now.empty() || block >= allocation.known_blocks.size()) return;
  const uint64_t hash = XXH3_64bits(now.data(), now.size());
  if (late) {
    // The host may have restored the bytes that preceded the work. A comparison with those would
    // miss this write, so the block counts as unknown.
    uint64_t& known = allocation.known_blocks[block];
    if (left.empty() && (hash != known || !runs_.told_unchanged(allocation, block, copies)))
      known = kUnknownBlock;
    return;
  }
  if (left.empty()) {
    allocation.known_blocks[block] = hash;
  } else if (saved != allocation.saved_blocks.end() && !saved->second.holds(now)) {
    std::vector<std::byte> then = saved->second.bytes.all();
    for (size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
      if (kernel ? !copied(left, base + i) : copied(over, base + i) && !copied(left, base + i)) {
        then[i] = now[i];
      }
    }
    saved->second = store_.keep_hashed(then);
  }
}

void HostWrites::host_learns() {
  if (contents_.any_read()) contents_.may_overtake_reads({}, true, std::nullopt, flights_);
}

void HostWrites::may_overtake_reads(const Work& work) {
  if (!contents_.any_read()) return;
  const bool calls_host = work.runs != 0;
  contents_.may_overtake_reads(work.flights, calls_host, work.stream, flights_);
  contents_.may_overtake_reads(work.may_write, calls_host, work.stream, flights_);
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
  const auto end = allocation.saved_blocks.upper_bound(last_block);
  for (auto at = allocation.saved_blocks.lower_bound(first_block); at != end; ++at) {
    const auto& [block, saved] = *at;
    if (!in_doubt(allocation, block, block)) continue;
    numbers.insert(block);
    const uint64_t base = block * kHostBlockBytes;
    blocks.push_back({base, 0, saved.bytes,
                      flights_.over(allocation.id, base, base + kHostBlockBytes,
                                    events_.stream_id(reader.stream))});
  }
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
  if (!blocks.empty()) finding(format::FindingKind::kNote, "host memory", kInDoubt);
  return numbers;
}

// Reads adjacent blocks. Returns false if the stream cannot be read.
bool HostWrites::read_run(const Allocation& allocation, std::span<DeferredRead::Block> blocks,
                          const Work& reader) {
  if (DeviceStreams::device_of(reader.stream) != 0) return false;
  const uint64_t begin = blocks.front().offset_bytes;
  for (DeferredRead::Block& block : blocks) block.place_bytes = block.offset_bytes - begin;
  const uint64_t size = blocks.back().place_bytes + blocks.back().saved.size();
  std::unique_ptr<StreamRead> read =
      device_.read_behind(const_cast<void*>(reader.stream), allocation.address + begin, size, true);
  if (!read) return false;
  auto events = std::make_unique<std::vector<format::Event>>();
  journal_.stamp(events->emplace_back());
  contents_.read_later(
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
