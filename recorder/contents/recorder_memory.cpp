// Allocations, their contents, and what the program writes into host-visible memory by itself.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

bool uniform(std::span<const std::byte> bytes) {
  return bytes.empty() || std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

std::span<const std::byte> visible_bytes(const Allocation& allocation) {
  return {reinterpret_cast<const std::byte*>(allocation.host_address), allocation.size_bytes};
}

std::vector<uint64_t> block_hashes(const Allocation& allocation) {
  const std::span<const std::byte> all = visible_bytes(allocation);
  std::vector<uint64_t> hashes;
  for (uint64_t offset = 0; offset < all.size(); offset += kHostBlockBytes) {
    const auto bytes = all.subspan(offset, std::min(kHostBlockBytes, all.size() - offset));
    hashes.push_back(XXH3_64bits(bytes.data(), bytes.size()));
  }
  return hashes;
}

format::Content Recorder::make_content(std::span<const std::byte> bytes, bool store) {
  return make_content(bytes, store, words_, nullptr);
}

format::Content Recorder::make_content(std::span<const std::byte> bytes, bool store,
                                       const WordResolver& words, const Allocation* holder) {
  if (bytes.size() > kSmallBytes) {
    return *take_content(bytes.size(), store, words, holder,
                         [&](uint64_t offset, std::span<std::byte> piece) {
                           std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
                           return true;
                         });
  }
  format::Content content;
  content.size_bytes = bytes.size();
  content.hash = format::hash_bytes(bytes);
  content.stored = store;
  if (!bytes.empty() && uniform(bytes)) {
    content.fill = static_cast<uint8_t>(bytes[0]);
    content.stored = true;  // one byte says it all
  } else if (store && !bytes.empty()) {
    content.blob = check(journal_.writer().add_blob(bytes));
  }
  MemoryWords found(words);
  found.add(bytes);
  journal_.findings().near(content, found);
  content.relocations = found.take();
  take_in_targets(content.relocations, bytes, holder);
  mark_reachable(content.relocations, true);
  return content;
}

void Recorder::mark_reachable(std::span<const format::Relocation> relocations, bool in_memory) {
  // It matters for these only.
  if (map_.host_visible().empty() && !any_value_) return;
  for (const format::Relocation& relocation : relocations) {
    Allocation* target = by_id(relocation.allocation);
    if (target == nullptr) continue;
    target->in_memory = target->in_memory || in_memory;
    if (target->host_visible()) make_reachable(*target);
  }
}

void Recorder::make_reachable(Allocation& allocation) {
  if (allocation.reachable) return;
  allocation.reachable = true;
  watch(allocation);
}

// What launches look at without the lock changes while there are none.

std::vector<std::shared_ptr<Allocation>> Recorder::map(std::shared_ptr<Allocation> allocation) {
  hold_words();
  const LaunchLanes::Alone alone(journal_.lanes());
  by_id_[allocation->id] = allocation.get();
  return map_.insert(std::move(allocation));
}

void Recorder::unmap(uint64_t address) {
  hold_words();
  const LaunchLanes::Alone alone(journal_.lanes());
  map_.remove(address);
}

void Recorder::forget_code(const void* module) {
  const LaunchLanes::Alone alone(journal_.lanes());
  words_.remove_code(module);
}

void Recorder::forget_id(const Allocation& allocation) {
  const LaunchLanes::Alone alone(journal_.lanes());
  by_id_.erase(allocation.id);
  by_id_.erase(allocation.former_id);
}

Allocation* Recorder::by_id(format::AllocationId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

// Variables are not: no caller of a replay could bind them.
bool Recorder::leaves_out(const Allocation& allocation) const {
  return options_.contents == Contents::kNone && !allocation.host_visible() &&
         allocation.kind != format::AllocationKind::kModuleGlobal;
}

// Memory that the program gets right now, and that only the device sees. What the host sees is
// compared with what it held first; --checkpoints hash what memory holds from its beginning on; and
// memory that a range begins with may have been written before.
bool Recorder::is_fresh(const Allocation& allocation) const {
  return (allocation.kind == format::AllocationKind::kDevice ||
          allocation.kind == format::AllocationKind::kStreamOrdered) &&
         !allocation.host_visible() && !options_.checkpoints &&
         (selection_.empty() || fresh_.fresh(allocation.given_out));
}

format::Content Recorder::first_content(const Allocation& allocation) {
  if (!leaves_out(allocation)) return read_content(allocation, true, Held::kFirst);
  if (!std::exchange(left_out_, true)) {
    finding(format::FindingKind::kNote, "--contents none",
            "what device memory held is not in the trace, but for words that look like pointers "
            "and buffers of one repeated byte: a replay begins the rest with zeros unless buffers "
            "are bound, and compares nothing");
  }
  return read_content(allocation, false, Held::kFirst);
}

// Of an allocation whose content is not stored: the words that lead to memory which began after
// it.
void Recorder::append_words(const Allocation& allocation, const format::Content& whole) {
  const std::vector<format::Relocation>& words = whole.relocations;
  for (size_t first = 0, next = 0; first < words.size(); first = next) {
    const uint64_t offset = words[first].offset_bytes;
    format::Content run;
    for (next = first; next < words.size() &&
                       words[next].offset_bytes == offset + (next - first) * sizeof(uint64_t);
         ++next) {
      run.relocations.push_back(words[next]);
      run.relocations.back().offset_bytes -= offset;
    }
    std::vector<std::byte> bytes((next - first) * sizeof(uint64_t));
    if (!device_->read(bytes.data(), allocation.address + offset, bytes.size())) return;
    run.size_bytes = bytes.size();
    run.hash = run.blob = check(journal_.writer().add_blob(bytes));
    format::Copy copy;
    copy.destination.allocation = allocation.id;
    copy.destination.offset_bytes = offset;
    copy.width_bytes = bytes.size();
    copy.host_source = std::move(run);
    append(std::move(copy));
  }
}

format::Content Recorder::post_content(const Allocation& allocation) {
  if (options_.post == PostState::kNone) {
    format::Content unknown;
    unknown.size_bytes = allocation.size_bytes;
    unknown.stored = false;
    return unknown;
  }
  return read_content(allocation, options_.post == PostState::kFull, Held::kLast);
}

void Recorder::insert_allocation(std::shared_ptr<Allocation> allocation,
                                 format::AllocationBegin begin) {
  allocation->id = selection_.empty() ? next_allocation_++ : next_untraced_--;
  Allocation& entry = *allocation;
  if (entry.kind != format::AllocationKind::kModuleGlobal) {
    entry.site = journal_.sites().here();
    entry.site_ordinal = journal_.sites().next_ordinal(entry.site);
  }
  for (const std::shared_ptr<Allocation>& old : map(std::move(allocation))) {
    // Its end was not seen: the runtime gave the same addresses out again.
    if (old->begun) {
      format::Content unknown;
      unknown.size_bytes = old->size_bytes;
      unknown.stored = false;
      end_allocation(*old, true, 0, std::move(unknown));
    }
    unwatch(*old);
    forget_id(*old);
  }
  entry.flags = begin.flags;
  // What freed memory left there is in no trace of ranges, and a replay could not tell it from
  // writes.
  if (map_.freed_within(entry.address, entry.address + entry.size_bytes).empty()) {
    entry.given_out = fresh_.now();
  }
  addresses_reused(entry);
  if (selection_.empty()) take_in_trace(entry, std::move(begin));
}

// The host may write the same bytes again and mean the new allocation: what it wrote before is as
// good as written now.
void Recorder::addresses_reused(const Allocation& entry) {
  if (map_.host_visible().empty()) return;
  const std::vector<format::AllocationId> freed =
      map_.freed_within(entry.address, entry.address + entry.size_bytes);
  for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
    const bool stale = std::ranges::any_of(
        freed, [&](format::AllocationId id) { return allocation->points_to.contains(id); });
    if (!stale) continue;
    allocation->points_to.clear();
    std::ranges::fill(allocation->known_blocks, kUnknownBlock);
  }
}

// Of what the trace says about memory that the host sees.
void Recorder::note_targets(const format::Action& action) {
  const auto note = [&](format::AllocationId id, const format::Content& content) {
    if (content.relocations.empty()) return;
    Allocation* allocation = by_id(id);
    if (allocation == nullptr || !allocation->host_visible()) return;
    for (const format::Relocation& relocation : content.relocations) {
      allocation->points_to.insert(relocation.allocation);
    }
  };
  if (const auto* begin = std::get_if<format::AllocationBegin>(&action)) {
    note(begin->id, begin->initial);
  } else if (const auto* write = std::get_if<format::HostWrite>(&action)) {
    note(write->allocation, write->content);
  }
}

void Recorder::allocated(const NewAllocation& allocation) noexcept {
  if (allocation.address == 0 || allocation.size_bytes == 0) return;
  guarded([&] {
    auto entry = std::make_shared<Allocation>();
    entry->kind = allocation.kind;
    entry->address = allocation.address;
    entry->host_address = allocation.host_address;
    entry->size_bytes = allocation.size_bytes;
    if (allocation.kind == format::AllocationKind::kHostPinned) {
      const uint64_t seen =
          device_->device_address(reinterpret_cast<void*>(allocation.host_address));
      if (seen != 0) entry->address = seen;
    }
    format::AllocationBegin begin;
    begin.flags = allocation.flags;
    if (allocation.kind == format::AllocationKind::kStreamOrdered && selection_.empty()) {
      begin.stream = stream_id(allocation.stream);
    }
    insert_allocation(std::move(entry), std::move(begin));
  });
  drain_if_full();
}

void Recorder::host_registered(void* host, uint64_t size_bytes, uint32_t flags) noexcept {
  if (host == nullptr || size_bytes == 0) return;
  guarded([&] {
    const uint64_t host_address = reinterpret_cast<uint64_t>(host);
    const uint64_t address = device_->device_address(host);
    auto entry = std::make_shared<Allocation>();
    entry->kind = format::AllocationKind::kHostRegistered;
    entry->address = address == 0 ? host_address : address;
    entry->host_address = host_address;
    entry->size_bytes = size_bytes;
    format::AllocationBegin begin;
    begin.flags = flags;
    insert_allocation(std::move(entry), std::move(begin));
  });
}

// As long as hipFree does. Without the lock: what the device waits for may be a call of another
// thread. Kernels that others launch meanwhile are not among those that were `issued`.
bool Recorder::wait_for_device(uint64_t address, uint32_t& issued) noexcept {
  bool wait = false;
  guarded([&] {
    const std::shared_ptr<Allocation> allocation = map_.find_begin(address);
    wait = allocation && allocation->begun && !graphs_.captures().any();
    if (!wait) return;
    look_before_wait();
    issued = flights_.issued();
  });
  return wait && device_->synchronize(0);
}

// The range leaves the map before the real call: another thread may get the same addresses as soon
// as the runtime has them back.
Recorder::Freeing Recorder::freeing(uint64_t address, Handle stream, bool stream_ordered) noexcept {
  Freeing result;
  if (address == 0) return result;
  uint32_t issued = 0;
  const bool idle = !stream_ordered && wait_for_device(address, issued);
  const auto settled = [&] {
    look_before_wait();
    issued = flights_.issued();
    return device_->synchronize(kSettleTimeoutMs);
  };
  guarded([&] {
    const ReadingFor reading(reading_for_, stream_ordered ? "hipFreeAsync" : "hipFree");
    // What host functions told of is done: what the program wrote since is no copy's.
    if (any_ran_.load(std::memory_order_acquire)) note_runs();
    std::shared_ptr<Allocation> allocation = map_.find_begin(address);
    if (!allocation) return;
    if (stream_ordered && graphs_.captures().capturing(stream)) {
      finding(format::FindingKind::kIncomplete, "hipFreeAsync", "inside a stream capture");
      return;
    }
    result.post.size_bytes = allocation->size_bytes;
    result.post.stored = false;
    if (!allocation->begun) {
      // Nothing is known of it.
    } else if (graphs_.captures().any()) {
      finding(format::FindingKind::kNote, "hipFree",
              "inside a stream capture: the buffer's last state is unknown");
    } else if (stream_ordered && options_.post == PostState::kNone) {
      // Nothing is asked of the device.
    } else if (stream_ordered && (result.last_state = device_->read_behind(
                                      const_cast<void*>(stream), allocation->address,
                                      allocation->size_bytes, false))) {
      result.words = words_now();
    } else if (stream_ordered && !options_.wait) {
      finding(format::FindingKind::kNote, "hipFreeAsync",
              "the last state of its memory would have had to be waited for, and is unknown");
    } else if (!idle && !(stream_ordered && settled())) {
      finding(format::FindingKind::kNote, stream_ordered ? "hipFreeAsync" : "hipFree",
              "the device failed or did not become idle: the buffer's last state is unknown");
    } else {
      land(flights_.land_all_kernels(issued));
      if (allocation->host_visible()) check_host_writes(*allocation, 0, allocation->size_bytes);
      result.post = post_content(*allocation);
    }
    unmap(allocation->address);
    // Nothing reads it from now on, also when the host learns that work on it is done.
    unwatch(*allocation);
    flights_.forget(allocation->id);
    result.allocation = std::move(allocation);
  });
  return result;
}

void Recorder::freed(Freeing&& freeing, bool success, Handle stream) noexcept {
  if (!freeing.allocation) return;
  guarded([&] {
    if (!success) {
      if (freeing.allocation->reachable) watch(*freeing.allocation);
      (void)map(std::move(freeing.allocation));
      return;
    }
    if (!freeing.allocation->begun) {
      forget_id(*freeing.allocation);
      return;
    }
    const format::StreamId id = stream == nullptr ? 0 : stream_id(stream);
    if (!freeing.last_state) {
      end_allocation(*freeing.allocation, true, id, std::move(freeing.post));
    } else {
      end_allocation_later(std::move(freeing), id);
    }
    flights_.forget(freeing.allocation->id);
    values_.lose(freeing.allocation->id);
    forget_id(*freeing.allocation);
  });
  drain_if_full();
}

void Recorder::host_unregistered(uint64_t address) noexcept {
  constexpr const char* kCall = "hipHostUnregister";
  synchronized(format::SynchronizeKind::kStream, nullptr, kCall);
  guarded([&] {
    const std::shared_ptr<Allocation> allocation = map_.find_begin(address);
    if (!allocation) return;
    if (allocation->begun) end_allocation(*allocation, true, 0, content_at_end(*allocation, kCall));
    unmap(allocation->address);
    unwatch(*allocation);
    flights_.forget(allocation->id);
    values_.lose(allocation->id);
    forget_id(*allocation);
  });
  drain_if_full();
}

// Of memory that ends in a call which does not wait for all work: nothing waits here either.
format::Content Recorder::content_at_end(Allocation& allocation, const char* call) {
  const ReadingFor reading(reading_for_, call);
  if (any_ran_.load(std::memory_order_acquire)) note_runs();
  // Device memory may be written by any kernel.
  bool written = !allocation.host_visible();
  for (const Flight& flight : flights_.over(allocation.id, 0, allocation.size_bytes)) {
    written = written || flight.named || !flight.kernel;
  }
  if (written) {
    if (!streams_are_idle()) {
      finding(format::FindingKind::kNote, call,
              "beside work that may write the memory: its last state is unknown");
      format::Content unknown;
      unknown.size_bytes = allocation.size_bytes;
      unknown.stored = false;
      return unknown;
    }
    look_before_wait();
    land(flights_.land_all_kernels());
  }
  if (allocation.host_visible()) check_host_writes(allocation, 0, allocation.size_bytes);
  return post_content(allocation);
}

void Recorder::end_allocation(const Allocation& allocation, bool freed, format::StreamId stream,
                              format::Content post) {
  append(format::AllocationEnd{allocation.id, freed, stream, std::move(post)});
}

void Recorder::resetting() noexcept {
  guarded([&] {
    const ReadingFor reading(reading_for_, "hipDeviceReset");
    look_before_wait();
    if (recording_ && !device_->synchronize(kSettleTimeoutMs)) {
      finding(format::FindingKind::kNote, "hipDeviceReset",
              "the device failed or did not become idle");
    }
    resolve_reads(true);
    device_->resetting();
    if (!flights_.empty()) {
      append(format::Synchronize{format::SynchronizeKind::kDevice, 0, "hipDeviceReset"});
    }
    for (const std::shared_ptr<Allocation>& allocation : adopted_) {
      end_allocation(*allocation, true, 0, last_content(*allocation));
      unwatch(*allocation);
      forget_id(*allocation);
    }
    adopted_.clear();
    for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
      // Host memory that was only registered lives on, but not for the device.
      if (allocation->kept) {
        end_kept(*allocation, true);
      } else if (allocation->begun) {
        if (allocation->host_visible()) check_host_writes(*allocation, 0, allocation->size_bytes);
        end_allocation(*allocation, true, 0, post_content(*allocation));
      }
      unmap(allocation->address);
      unwatch(*allocation);
      forget_id(*allocation);
    }
    for (ModuleEntry* module : code_.modules()) {
      module->globals_known = false;
      forget_code(module);
      // Managed variables are not looked for again: what their pointers hold now is not known.
      if (!module->managed.empty()) {
        finding(format::FindingKind::kIncomplete, "hipDeviceReset", "with __managed__ variables");
      }
    }
    code_.forget_found();
    const LaunchLanes::Alone alone(journal_.lanes());
    streams_.clear();
  });
}

// Bytes that changed since they were last taken in were changed by the program: what device work
// writes is taken in when it is done (recorder_flights.cpp). `reader`: work that is about to be
// issued and may read them; nullptr: what is in doubt stays so.
void Recorder::check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                                 const Work* reader) {
  if (size_bytes == 0) return;
  take_effects();
  std::set<uint64_t> to_come;
  if (reader != nullptr) to_come = end_doubt(allocation, offset, size_bytes, *reader);
  const uint64_t first = offset / kHostBlockBytes;
  const uint64_t last = (offset + size_bytes - 1) / kHostBlockBytes;
  uint64_t run_begin = 0;
  uint64_t run_end = 0;
  // The run's bytes; where it is read again, those of its first block. Plain memory may change
  // before that.
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
      return read_host_piece(allocation.host_address + begin + at, piece);
    });
  };
  for (uint64_t block = first; block <= last && block < allocation.known_blocks.size(); ++block) {
    const uint64_t begin = block * kHostBlockBytes;
    if (to_come.contains(block)) continue;
    if (!flights_.empty()) {
      const std::vector<Flight> over = flights_.over(allocation.id, begin, begin + kHostBlockBytes);
      if (!over.empty()) {
        if (reader == nullptr && named_kernel(over)) continue;
        if (const auto now = host_block(allocation, block))
          check_around_flights(allocation, block, over, *now);
        continue;
      }
    }
    std::optional<std::vector<std::byte>> bytes = host_block(allocation, block);
    if (!bytes) continue;
    const uint64_t hash = XXH3_64bits(bytes->data(), bytes->size());
    if (hash == allocation.known_blocks[block]) continue;
    if (told_meanwhile(allocation, block, *bytes)) continue;
    allocation.known_blocks[block] = hash;
    if (block != run_end || run_begin == run_end || held.size() >= ByteStore::kPieceBytes) {
      write_run();
      run_begin = block;
      held = *std::move(bytes);
    } else if (allocation.plain_host) {
      held.insert(held.end(), bytes->begin(), bytes->end());
    }
    run_end = block + 1;
  }
  write_run();
}

// Before kernels that were given these, or follow a kernel in flight that was: it may have stored
// the address where they find it. Other memory that is in doubt stays so.
void Recorder::check_reachable_host_writes(const Work& reader, format::StreamId stream) {
  // What a buffer's new content points to becomes reachable: until nothing is added.
  for (bool again = true; again;) {
    again = false;
    size_t before = 0;
    size_t after = 0;
    for (const std::shared_ptr<Allocation>& a : map_.host_visible()) before += a->reachable;
    for (const std::shared_ptr<Allocation>& a : map_.host_visible()) {
      if (!a->reachable) continue;
      const bool given = a->in_memory || reader.given.contains(a->id);
      check_host_writes(*a, 0, a->size_bytes, given || may_find(*a, stream) ? &reader : nullptr);
    }
    for (const std::shared_ptr<Allocation>& a : map_.host_visible()) after += a->reachable;
    again = after != before;
  }
}

// Whether kernels that were not given the memory, next in the stream, may read what is in doubt
// there, and such kernels before them did not find the same.
bool Recorder::may_find(Allocation& allocation, format::StreamId stream) {
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

void Recorder::write_from_host(Allocation& allocation, uint64_t begin,
                               std::span<const std::byte> bytes, bool in_doubt) {
  allocation.write_known(begin, bytes);
  // Not append(): landing what host functions told of would end here.
  push(format::HostWrite{allocation.id, begin, make_content(bytes, true), in_doubt});
}

// Of any size.
void Recorder::write_from_host(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                               const ReadPiece& read) {
  auto content = take_content(size_bytes, true, words_, nullptr,
                              [&](uint64_t offset, std::span<std::byte> piece) {
                                if (!read(offset, piece)) return false;
                                allocation.write_known(begin + offset, piece);
                                return true;
                              });
  if (!content) {
    allocation.last_known = {};  // a part of it is in no write
    return;
  }
  push(format::HostWrite{allocation.id, begin, *std::move(content)});
}

}  // namespace gfxgraph::recorder
