// Device work that reads or writes what the program may see: seen by prepare() before the real
// call, appended by commit() after it.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/hip_quirks.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end) {
  return extent(end.pitch_bytes, end.slice_bytes, raw.width_bytes, raw.height, raw.depth);
}

Flight flight_of(const format::Copy& copy) {
  const format::CopyEnd& to = copy.destination;
  return box_flight(to.allocation, to.offset_bytes, to.pitch_bytes, to.slice_bytes,
                    copy.width_bytes, copy.height, copy.depth);
}

Flight flight_of(const format::Memset& set) {
  return box_flight(set.allocation, set.offset_bytes, set.pitch_bytes, set.slice_bytes,
                    set.width_elements * set.element_bytes, set.height, set.depth);
}

// What the program wrote beside the range, into blocks that the work writes in part, must not be
// taken for the work's.
void Recorder::writes(Work& work, Allocation& allocation, const Flight& flight) {
  if (allocation.holds_values) work.over_values.push_back(flight);
  if (!allocation.host_visible() || flight.begin == flight.end) return;
  allocation.device_wrote.add(flight.begin, flight.end);
  // A host function may write it, too, before or after, or while this is being issued.
  if (!allocation.watched && (work.calls_host || !runs_to_come().empty())) watch(allocation);
  check_host_writes(allocation, flight.begin, flight.end - flight.begin);
  work.flights.push_back(flight);
}

void Recorder::gives(const format::Launch& launch, Work& work) {
  for (const format::Relocation& word : launch.relocations) {
    work.given.insert(word.allocation);
    const Allocation* nearest = by_id(word.allocation);
    work.leads_outside = work.leads_outside || word.outside;
    if (!word.outside || nearest == nullptr) continue;
    // It may have been made from any of those around it.
    const uint64_t value = nearest->address + static_cast<uint64_t>(word.addend);
    const uint64_t reach = format::outside_reach(nearest->distance(value));
    for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
      if (allocation->distance(value) > reach || !allocation->begun) continue;
      work.given.insert(allocation->id);
      make_reachable(*allocation);
    }
  }
}

void Recorder::reachable_may_be_written(Work& work, format::StreamId stream) {
  if (map_.host_visible().empty()) return;
  look_before_wait();  // what is in doubt before this work is not taken for its own
  check_reachable_host_writes(work, stream);
  for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
    if (!allocation->reachable) continue;
    const bool named = allocation->in_memory || work.given.contains(allocation->id);
    work.may_write.push_back({allocation->id, 0, allocation->size_bytes, false, true, named});
  }
  run_beside_functions(work.may_write, work, stream);
}

// Known allocations only, by the device's or the host's address. `offset`: of the address in it.
Allocation* Recorder::allocation_at(uint64_t address, uint64_t& offset) {
  Allocation* allocation = map_.find(address);
  uint64_t base = allocation == nullptr ? 0 : allocation->address;
  if (allocation == nullptr || address == base + allocation->size_bytes) {
    allocation = map_.find_host(address);
    base = allocation == nullptr ? 0 : allocation->host_address;
  }
  offset = address - base;
  return allocation;
}

bool Recorder::resolve_copy_end(const RawCopyEnd& raw, MemorySide side, uint64_t size_bytes,
                                Work& work, format::CopyEnd& end) {
  end.pitch_bytes = raw.pitch_bytes;
  end.slice_bytes = raw.slice_bytes;
  uint64_t offset = 0;
  Allocation* allocation = allocation_at(raw.address, offset);
  if (allocation == nullptr && work.in_graph && side != MemorySide::kDevice) {
    allocation = find_adopted(raw.address, size_bytes);
    if (allocation != nullptr) offset = raw.address - allocation->host_address;
  }
  if (allocation != nullptr) {
    take_in_trace(*allocation);
    end.allocation = allocation->id;
    end.offset_bytes = offset;
    return true;
  }
  if (side != MemorySide::kDevice) return true;  // plain host memory
  finding(format::FindingKind::kIncomplete, work.call, "device memory in no recorded allocation");
  return false;
}

// Whether a copy to device memory out of this pinned memory brings its bytes along, as one out of
// plain memory does. Then no host write stands before it, where a replay would have to wait until
// it may make that. Not for memory that anybody but the program writes, nor where the program may
// write between the call and the copy: it holds the copy up by a kernel that reaches memory of the
// host, or a stream that waits for what the host writes.
//
// The copies of each step of a program must look the same: whether such a kernel has ended does not
// count, nor whether a small copy's bytes have changed. A large one, of weights for example, brings
// them where the trace does not have them already.
bool Recorder::carries_bytes(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                             const format::CopyEnd& destination, const Work& work) {
  const Allocation* const target = by_id(destination.allocation);
  const bool pinned = source.kind == format::AllocationKind::kHostPinned ||
                      source.kind == format::AllocationKind::kHostRegistered;
  if (work.in_graph || !pinned || source.plain_host || target == nullptr ||
      target->host_visible() || options_.checkpoints || size_bytes == 0 ||
      offset > source.size_bytes || size_bytes > source.size_bytes - offset) {
    return false;
  }
  if (source.reachable || source.was_reachable || source.watched || source.holds_values ||
      any_value_ || any_reachable_ || source.device_wrote.overlap(offset, offset + size_bytes) ||
      !runs_to_come().empty()) {
    return false;
  }
  if (!source.begun || size_bytes <= kSmallBytes) return true;
  for (uint64_t block = offset / kHostBlockBytes; block * kHostBlockBytes < offset + size_bytes;
       ++block) {
    const auto bytes = visible_bytes(source).subspan(block * kHostBlockBytes);
    const size_t size = std::min<uint64_t>(kHostBlockBytes, bytes.size());
    if (block >= source.known_blocks.size() ||
        XXH3_64bits(bytes.data(), size) != source.known_blocks[block]) {
      return true;
    }
  }
  return false;
}

std::optional<format::Copy> Recorder::make_copy(const RawCopy& raw, format::StreamId stream,
                                                Work& work) {
  format::Copy copy;
  copy.width_bytes = raw.width_bytes;
  copy.height = raw.height;
  copy.depth = raw.depth;
  copy.stream = stream;
  if (raw.width_bytes == 0 || raw.height == 0 || raw.depth == 0) {
    work.host_waits = false;
    return std::nullopt;
  }
  const auto size = [&](const RawCopyEnd& end) { return copy_extent(raw, end); };
  if (!resolve_copy_end(raw.destination, raw.destination_side, size(raw.destination), work,
                        copy.destination)) {
    return std::nullopt;
  }
  uint64_t source_offset = 0;
  Allocation* const pinned = allocation_at(raw.source.address, source_offset);
  const bool carried = pinned != nullptr && carries_bytes(*pinned, source_offset, size(raw.source),
                                                          copy.destination, work);
  if (carried) {
    copy.source.allocation = pinned->id;  // for host_waits()
  } else if (!resolve_copy_end(raw.source, raw.source_side, size(raw.source), work, copy.source)) {
    return std::nullopt;
  }
  if (copy.destination.allocation == 0 && copy.source.allocation != 0) {
    if (const Allocation* adopted =
            find_adopted_for(raw.destination.address, size(raw.destination))) {
      copy.destination.allocation = adopted->id;
      copy.destination.offset_bytes = raw.destination.address - adopted->host_address;
    }
  }
  work.host_waits = host_waits(work, copy);
  copy.asynchronous = !work.host_waits;
  if (carried) {
    std::get<RawCopy>(work.raw).source.address = pinned->host_address + source_offset;
    copy.source = {};
    copy.source_is_pinned = pinned->brought = true;
  }
  if (copy.destination.allocation == 0 && copy.source.allocation == 0) return std::nullopt;
  // Plain host memory is read by read_copy_source(), when the runtime has read it.
  if (Allocation* source = by_id(copy.source.allocation);
      source != nullptr && source->host_visible() && !work.in_graph && !source->watched) {
    // Pinned memory that a host function may still fill: its bytes, read when that has run. Not if
    // the copy need not follow it, if work may still write the memory, or if the copy leads out of
    // every allocation.
    work.source_runs = runs_to_come();
    const uint64_t begin = copy.source.offset_bytes;
    const bool kept = copy.destination.allocation == 0 || functions_beside(stream) ||
                      !flights_.over(source->id, begin, begin + size(raw.source)).empty();
    if (!work.source_runs.empty() && !kept) {
      auto& own = std::get<RawCopy>(work.raw);
      own.source.address = source->host_address + begin;
      copy.source = {};
      copy.source_is_pinned = true;
    } else if (!work.source_runs.empty()) {
      work.source_runs.clear();
      // What the program wrote before is not the functions'.
      check_host_writes(*source, 0, source->size_bytes);
      watch(*source);
    }
    if (work.host_waits) work.source_runs.clear();
  }
  if (Allocation* source = by_id(copy.source.allocation);
      source != nullptr && source->host_visible()) {
    if (!work.in_graph) {
      read_beside_functions(*source, copy.source.offset_bytes, size(raw.source), stream);
    }
    check_host_writes(*source, copy.source.offset_bytes, size(raw.source), &work);
  }
  if (Allocation* target = by_id(copy.destination.allocation)) {
    writes(work, *target, flight_of(copy));
  }
  return copy;
}

std::optional<format::Memset> Recorder::make_memset(const RawMemset& raw, format::StreamId stream,
                                                    Work& work) {
  if (raw.width_elements == 0 || raw.height == 0 || raw.depth == 0) {
    work.host_waits = false;
    return std::nullopt;
  }
  format::CopyEnd end;
  if (!resolve_copy_end({raw.address, 0, 0}, MemorySide::kDevice, 0, work, end)) {
    return std::nullopt;
  }
  format::Memset set;
  set.allocation = end.allocation;
  set.offset_bytes = end.offset_bytes;
  set.pitch_bytes = raw.pitch_bytes;
  set.slice_bytes = raw.slice_bytes;
  set.element_bytes = raw.element_bytes;
  set.value = raw.value;
  set.width_elements = raw.width_elements;
  set.height = raw.height;
  set.depth = raw.depth;
  set.stream = stream;
  Allocation* const target = by_id(set.allocation);
  work.host_waits = work.knows != Knows::NOTHING;
  set.asynchronous = !work.host_waits;
  if (target != nullptr) writes(work, *target, flight_of(set));
  return set;
}

// What a runtime makes of a memset node, where it is not what was asked for: the trace holds what
// was done. HIP 5.2.3 writes the element size into every byte of a node with several rows, and
// takes its width for bytes.
RawMemset Recorder::as_node(const RawMemset& raw) {
  if (raw.height < 2) return raw;
  if (raw.element_bytes > 1 &&
      hip_quirk_seen(HipQuirk::kPitchedMemsetNodeTooWide, facts_.runtime_version)) {
    finding(format::FindingKind::kNote, "hipGraphAddMemsetNode",
            "this runtime sets too many elements in nodes of several rows: recorded as it does");
    RawMemset done = raw;
    done.width_elements *= raw.element_bytes;
    return done;
  }
  if (!hip_quirk_seen(HipQuirk::kPitchedMemsetNodeWritesElementSize, facts_.runtime_version)) {
    return raw;
  }
  finding(format::FindingKind::kNote, "hipGraphAddMemsetNode",
          "this runtime writes the element size instead of the value in nodes of several rows: "
          "recorded as it does");
  RawMemset done = raw;
  done.value = raw.element_bytes;
  done.element_bytes = 1;
  return done;
}

// Also in a stream that is being captured.
bool Recorder::done_at_once(const Work& work) const {
  if (!work.never_captured) return false;
  HipQuirk quirk = HipQuirk::kModuleLaunchNotCaptured;
  if (const auto* launch = std::get_if<RawLaunch>(&work.raw);
      launch != nullptr && launch->shape.cooperative) {
    quirk = HipQuirk::kCooperativeLaunchNotCaptured;
  }
  if (std::holds_alternative<RawCopy>(work.raw)) quirk = HipQuirk::kCopyListNotCaptured;
  if (std::holds_alternative<RawWrite>(work.raw)) quirk = HipQuirk::kStreamValueNotCaptured;
  return hip_quirk_seen(quirk, facts_.runtime_version);
}

void Recorder::prepare(Work& work) noexcept {
  guarded([&] {
    // What the program wrote since it learned that they ran, this work may read.
    if (any_ran_.load(std::memory_order_acquire)) note_runs();
    const Findings::Hold hold(journal_.findings(), work.findings);
    const ReadingFor reading(reading_for_, work.call);
    if (!done_at_once(work) && graphs_.captures().capturing(work.stream)) {
      if (std::holds_alternative<RawWrite>(work.raw)) {
        finding(format::FindingKind::kIncomplete, work.call, "inside a stream capture");
        work.skip = true;
        return;
      }
      work.captured = true;
      return;
    }
    if (outside()) {
      writes_outside(work.raw);
      work.skip = true;
      return;
    }
    const format::StreamId stream = stream_id(work.stream);
    if (auto* launch = std::get_if<RawLaunch>(&work.raw)) {
      work.action = make_launch(std::move(*launch), stream);
      gives(std::get<format::Launch>(*work.action), work);
      reachable_may_be_written(work, stream);
    } else if (auto* copy = std::get_if<RawCopy>(&work.raw)) {
      if (auto made = make_copy(*copy, stream, work)) work.action = std::move(*made);
    } else if (auto* set = std::get_if<RawMemset>(&work.raw)) {
      if (auto made = make_memset(*set, stream, work)) work.action = std::move(*made);
    } else if (auto* write = std::get_if<RawWrite>(&work.raw)) {
      work.action = make_write(*write, stream, work);
    } else if (auto* function = std::get_if<RawHostFunction>(&work.raw)) {
      work.action = format::HostFunction{stream, function->call, 0};
      check_watched_host_writes();
      if (function->wrapped) will_run(work, {function->wrapped}, nullptr);
      finding(format::FindingKind::kNote, function->call,
              "a host function: what it does to memory is replayed, the function is not");
    }
    work.skip = !work.action;
  });
}

std::optional<format::Content> Recorder::take_rows(const RawCopy& raw, const RawCopyEnd& end,
                                                   bool store) {
  std::optional<HostRows> rows = HostRows::of(raw, end);
  if (!rows) return std::nullopt;
  // What hipHostMalloc gave is there until freeing(), which takes the lock that is held here.
  const Allocation* const pinned = map_.find_host(end.address);
  if (pinned != nullptr && pinned->kind == format::AllocationKind::kHostPinned &&
      !pinned->plain_host) {
    rows->mapped(pinned->size_bytes - (end.address - pinned->host_address));
  }
  return take_content(
      rows->size_bytes(), store, words_, nullptr,
      [&](uint64_t offset, std::span<std::byte> piece) { return rows->read(offset, piece); });
}

bool Recorder::read_copy_source(const RawCopy& raw, format::Copy& copy) {
  if (copy.source.allocation != 0) return true;
  auto content = take_rows(raw, raw.source, true);
  if (content) copy.host_source = *std::move(content);
  return content.has_value();
}

void Recorder::receive_copy_result(const Work& work, format::Copy& copy) {
  const auto* raw = std::get_if<RawCopy>(&work.raw);
  if (raw == nullptr || copy.destination.allocation != 0) return;
  if (options_.contents == Contents::kNone) return;
  if (copy.asynchronous) return;  // not there yet: unknown, and replay says so
  if (auto content = take_rows(*raw, raw->destination, options_.post == PostState::kFull)) {
    copy.host_result = *std::move(content);
  }
}

void Recorder::checkpoint() {
  if (!options_.checkpoints || graphs_.captures().any()) return;
  if (!device_->synchronize(kSettleTimeoutMs)) return;
  land(flights_.land_all_kernels());
  const ReadingFor reading(reading_for_, "--checkpoints");
  format::Checkpoint checkpoint;
  for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
    if (!allocation->begun || allocation->kept) continue;
    format::Content content = read_content(*allocation, false, Held::kLast);
    if (!content.hash) continue;
    checkpoint.states.push_back({allocation->id, content.hash, std::move(content.relocations)});
  }
  append(std::move(checkpoint));
}

void Recorder::commit(Work&& work) noexcept {
  if (work.skip && work.findings.empty()) return;
  guarded([&] {
    check(journal_.findings().count(work.findings));
    if (work.skip) return;
    if (work.captured) {
      if (const auto* function = std::get_if<RawHostFunction>(&work.raw);
          function != nullptr && function->wrapped) {
        const std::lock_guard lock(ran_mutex_);
        function->wrapped->in_graph = true;
      }
      graphs_.note_words(work.raw);
      graphs_.captures().add(work.stream, std::move(work.raw));
      return;
    }
    if (!work.action) return;
    if (outside()) return note_left_range(work.call);
    bool around = false;
    if (auto* copy = std::get_if<format::Copy>(&*work.action)) {
      const auto* raw = std::get_if<RawCopy>(&work.raw);  // else its bytes are there
      if (raw != nullptr && !read_copy_source(*raw, *copy)) {
        finding(format::FindingKind::kIncomplete, work.call, "its source could not be read");
        return;
      }
      receive_copy_result(work, *copy);
      around = copy->destination.allocation == 0 && !adopted_.empty();
    }
    const auto blocking = [](const auto* action) { return action && !action->asynchronous; };
    work.told = blocking(std::get_if<format::Copy>(&*work.action)) ||
                blocking(std::get_if<format::Memset>(&*work.action));
    take_off(work, stream_id(work.stream));
    if (!work.appended) {
      format::Event& event = append_work(work);
      if (!work.source_runs.empty()) {
        defer({std::get<RawCopy>(work.raw), &std::get<format::Copy>(event.action), &event,
               std::move(work.source_runs)});
      }
    }
    if (around) write_around_adopted(std::get<RawCopy>(work.raw));
    kernels_take_off(work, stream_id(work.stream));
    if (any_value_) follow_values(work);
    for (const Handle event : work.records) {
      graphs_.captures().forget_event(event);
      append(format::EventRecord{event_id(event), stream_id(work.stream)});
    }
    checkpoint();
  });
  drain_if_full();
}

}  // namespace gfxgraph::recorder
