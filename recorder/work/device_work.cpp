#include "recorder/work/device_work.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/hip_quirks.h"
#include "recorder/events/host_memory.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

// Writes of the program beside the range, in blocks that the work writes only in part, must not be
// attributed to the work.
void DeviceWork::writes(Work& work, Allocation& allocation, const Flight& flight) {
  if (allocation.holds_values) work.over_values.push_back(flight);
  if (!allocation.host_visible() || flight.begin == flight.end ||
      !allocations_.map().follows_host())
    return;
  allocation.device_wrote.add(flight.begin, flight.end);
  // A host function may write it, too, before or after, or while this is being issued.
  if (!allocation.watched && (work.calls_host || !runs_.runs_to_come().empty()))
    runs_.effects().watch(allocation);
  host_writes_.check_host_writes(allocation, flight.begin, flight.end - flight.begin);
  work.flights.push_back(flight);
}

void DeviceWork::gives(const format::Launch& launch, Work& work) {
  for (const format::Relocation& word : launch.relocations) {
    work.given.insert(word.allocation);
    const Allocation* nearest = allocations_.by_id(word.allocation);
    work.leads_outside = work.leads_outside || word.outside;
    if (!word.outside || nearest == nullptr) continue;
    // It may have been made from any of those around it.
    const uint64_t value = nearest->address + static_cast<uint64_t>(word.addend);
    const uint64_t reach = format::outside_reach(nearest->distance(value));
    for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
      if (allocation->distance(value) > reach || !allocation->begun) continue;
      work.given.insert(allocation->id);
      traced_.make_reachable(*allocation);
    }
  }
}

void DeviceWork::reachable_may_be_written(Work& work, format::StreamId stream) {
  if (allocations_.map().host_visible().empty()) return;
  {
    const HostWrites::Glance glance(host_writes_);
    host_writes_.look_before_wait();  // what is in doubt before this work is not taken for its own
    host_writes_.check_reachable_host_writes(work, stream);
  }
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
    if (!allocation->reachable) continue;
    const bool given = work.given.contains(allocation->id);
    allocation->used_by_others |= given && allocation->made_by != thread_number();
    const bool named = allocation->in_memory || given;
    work.may_write.push_back({allocation->id, 0, allocation->size_bytes, false, true, named});
  }
  runs_.deferred().run_beside_functions(work.may_write, work, stream);
  // Not where the call may run host functions: it may wait for one that waits for another thread.
  if (!work.may_write.empty() && work.runs == 0) work.issuing_call = guard_.issuing().begin();
}

std::optional<format::Memset> DeviceWork::make_memset(const RawMemset& raw, format::StreamId stream,
                                                      Work& work) {
  if (raw.width_elements == 0 || raw.height == 0 || raw.depth == 0) {
    work.host_waits = false;
    return std::nullopt;
  }
  format::CopyEnd end;
  const format::Box box{raw.width_elements * raw.element_bytes, raw.height, raw.depth,
                        raw.pitch_bytes, raw.slice_bytes};
  if (!resolve_copy_end({raw.address, 0, 0}, MemorySide::kDevice, box.extent().value_or(UINT64_MAX),
                        work, end)) {
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
  Allocation* const target = allocations_.by_id(set.allocation);
  work.host_waits = work.knows != Knows::NOTHING;
  set.asynchronous = !work.host_waits;
  if (target != nullptr) writes(work, *target, flight_of(set));
  return set;
}

// Converts a memset node to what the runtime executes, which is what the trace holds. HIP 5.2.3
// deviates for nodes with several rows: it writes the element size into every byte, and takes the
// width as a number of bytes.
RawMemset DeviceWork::as_node(const RawMemset& raw) {
  if (raw.height < 2) return raw;
  if (raw.element_bytes > 1 &&
      hip_quirk_seen(HipQuirk::kPitchedMemsetNodeTooWide, facts_.runtime_version)) {
    finding(format::FindingKind::kNote, "hipGraphAddMemsetNode",
            "this runtime sets too many elements in nodes of several rows: recorded as executed");
    RawMemset done = raw;
    done.width_elements *= raw.element_bytes;
    return done;
  }
  if (!hip_quirk_seen(HipQuirk::kPitchedMemsetNodeWritesElementSize, facts_.runtime_version)) {
    return raw;
  }
  finding(format::FindingKind::kNote, "hipGraphAddMemsetNode",
          "this runtime writes the element size instead of the value in nodes of several rows: "
          "recorded as executed");
  RawMemset done = raw;
  done.value = raw.element_bytes;
  done.element_bytes = 1;
  return done;
}

// Also in a stream that is being captured.
bool DeviceWork::done_at_once(const Work& work) const {
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

void DeviceWork::prepare(Work& work) noexcept {
  guarded([&] {
    work.site = journal_.sites().here();
    // The work may read bytes that the program wrote after host functions told it that they ran.
    events_.note_runs_if_any();
    const Findings::Hold hold(journal_.findings(), work.findings);
    const Contents::ReadingFor reading(contents_, work.call);
    if (!done_at_once(work) && graphs_.captures().capturing(work.stream)) {
      if (std::holds_alternative<RawWrite>(work.raw) && !captures_values_now(work.stream)) {
        finding(format::FindingKind::kIncomplete, work.call, "inside a stream capture");
        work.skip = true;
        return;
      }
      work.captured = true;
      const auto* const launch = std::get_if<RawLaunch>(&work.raw);
      if (launch != nullptr && DeviceStreams::device_of(work.stream) != current_device)
        launches_.captured_elsewhere(*launch->kernel, work.call);
      return;
    }
    if (stretch_.outside()) {
      writes_outside(work.raw);
      work.skip = true;
      return;
    }
    const format::StreamId stream = events_.stream_id(work.stream);
    if (auto* launch = std::get_if<RawLaunch>(&work.raw)) {
      work.action = launches_.make_launch(std::move(*launch), stream);
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
      host_writes_.check_watched_host_writes();
      if (function->wrapped) runs_.will_run(work, {function->wrapped}, nullptr);
      finding(format::FindingKind::kNote, function->call,
              "a host function: its writes are replayed, the function is not");
    }
    work.skip = !work.action;
    host_writes_.may_overtake_reads(work);
  });
}

void DeviceWork::checkpoint() {
  if (!options_.checkpoints || graphs_.captures().any()) return;
  if (!device_.synchronize(kSettleTimeoutMs)) return;
  host_writes_.land(flights_.land_all_kernels());
  const Contents::ReadingFor reading(contents_, "--checkpoints");
  format::Checkpoint checkpoint;
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (!allocation->begun || allocation->kept) continue;
    format::Content content = contents_.read_content(*allocation, false, Contents::Held::kLast);
    if (!content.hash) continue;
    checkpoint.states.push_back({allocation->id, content.hash, std::move(content.relocations)});
  }
  events_.append(std::move(checkpoint));
}

void DeviceWork::commit(Work& work) noexcept {
  if (work.skip && work.findings.empty()) return;
  guarded([&] {
    check(journal_.findings().count(work.findings));
    if (work.skip) return;
    if (work.captured) {
      if (const auto* function = std::get_if<RawHostFunction>(&work.raw);
          function != nullptr && function->wrapped) {
        runs_.in_graph(*function->wrapped);
      }
      graphs_.note_words(work.raw);
      graphs_.captures().add(work.stream, std::move(work.raw));
      return;
    }
    if (!work.action) return;
    if (stretch_.outside()) return events_.note_left_range(work.call);
    bool around = false;
    if (auto* copy = std::get_if<format::Copy>(&*work.action)) {
      const auto* raw = std::get_if<RawCopy>(&work.raw);  // else its bytes are there
      if (raw != nullptr && !read_copy_source(*raw, *copy, &work)) {
        finding(format::FindingKind::kIncomplete, work.call, "its source could not be read");
        return;
      }
      receive_copy_result(work, *copy);
      if (raw != nullptr) take_in_source(*raw, *copy);
      around = copy->destination.allocation == 0 && !allocations_.adopted().empty();
    }
    const auto blocking = [](const auto* action) { return action && !action->asynchronous; };
    work.told = blocking(std::get_if<format::Copy>(&*work.action)) ||
                blocking(std::get_if<format::Memset>(&*work.action));
    host_writes_.take_off(work, events_.stream_id(work.stream));
    if (!work.appended) {
      if (work.source.in_flight != 0) {
        runs_.deferred().sources_in_flight().add(work.source.in_flight, std::get<RawCopy>(work.raw),
                                                 events_.stream_id(work.stream));
      }
      format::Event& event = events_.append_work(work);
      if (!work.source.runs.empty()) {
        runs_.defer({std::get<RawCopy>(work.raw), &std::get<format::Copy>(event.action), &event,
                     std::move(work.source.runs)});
      }
    }
    if (around) host_writes_.write_around_adopted(std::get<RawCopy>(work.raw));
    host_writes_.kernels_take_off(work, events_.stream_id(work.stream));
    work.issuing_call.end();
    for (const RawGraphMemory& memory : work.graph_memory) comes_or_goes(memory);
    if (allocations_.any_value()) follow_values(work);
    for (const Handle event : work.records) {
      graphs_.captures().forget_event(event);
      events_.append(format::EventRecord{events_.event_id(event), events_.stream_id(work.stream)});
    }
    if (!work.more) checkpoint();
  });
}

// Work outside of the recorded sections is about to run.
void DeviceWork::writes_outside(const RawAction& raw) {
  const auto written = [&](uint64_t address) {
    if (Allocation* allocation = allocations_.map().find(address))
      allocation->given_out = FreshMemory::kWritten;
  };
  // A copy in a later step must not take these bytes for writes of the program.
  const auto by_device = [&](uint64_t address, uint64_t size_bytes) {
    written(address);
    uint64_t offset = 0;
    Allocation* const to = allocations_.allocation_at(address, offset);
    if (to == nullptr || !to->host_visible() || offset >= to->size_bytes) return;
    to->device_wrote.add(offset, offset + std::min(size_bytes, to->size_bytes - offset));
  };
  if (std::holds_alternative<RawLaunch>(raw)) stretch_.fresh().kernels_run();
  if (const auto* copy = std::get_if<RawCopy>(&raw))
    by_device(copy->destination.address, copy_extent(*copy, copy->destination));
  if (const auto* set = std::get_if<RawMemset>(&raw)) {
    const format::Box box{set->width_elements * set->element_bytes, set->height, set->depth,
                          set->pitch_bytes, set->slice_bytes};
    by_device(set->address, box.extent().value_or(UINT64_MAX));
  }
  if (const auto* write = std::get_if<RawWrite>(&raw)) written(write->address);
}

void DeviceWork::number_anew() {
  values_.lose_all();
  executables_.number_anew();
  next_graph_ = 1;
  graph_launches_ = 0;
}

}  // namespace gfxgraph::recorder
