// Copies: what they read and write, and which of those bytes the trace contains.
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/hip_quirks.h"
#include "recorder/events/host_memory.h"
#include "recorder/memory/host_blocks.h"
#include "recorder/objects/devices.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {
namespace {

// HipQuirk::kPlainSourceIsStaged, up to this size; a copy of 1,179,648 bytes waits (measured).
constexpr uint64_t kMostStagedBytes = 1u << 20;
// HIP 7.2.4 also returns at once from copies of rows (pitched copies) out of plain memory, but
// reads it when the copy runs; 6.4.3 waits.
constexpr int32_t kRowsReturnAtOnceFrom = 70'000'000;

bool plain(const Allocation* one) { return one == nullptr || one->plain_host; }
bool on_device(const Allocation* one) { return one != nullptr && !one->host_visible(); }

}  // namespace

// Whether the call returns only when the copy is done. An asynchronous copy does so if one end is
// plain host memory, or both are host memory (HIP 5.2.3, measured by tests/recorder/
// program_order.hip), except where a quirk of the runtime version applies.
bool DeviceWork::host_waits(const Work& work, const format::Copy& copy) {
  const Allocation* destination = allocations_.by_id(copy.destination.allocation);
  const Allocation* source = allocations_.by_id(copy.source.allocation);
  const auto in_array = [](const Allocation* one) { return one != nullptr && one->array; };
  if (in_array(destination) || in_array(source)) {
    if (work.knows == Knows::STREAM) return true;
    if (work.knows == Knows::BY_ARGUMENT &&
        hip_quirk_seen(HipQuirk::kArrayCopiesAlwaysWait, facts_.runtime_version))
      return true;
  }
  // Pitched calls (hipMemcpy2D and the like) behave so by their kind, even if they copy one row.
  if (plain(source) && plain(destination) && copy.destination.pitch_bytes != 0 &&
      hip_quirk_seen(HipQuirk::kPlainRowsWaitForNothing, facts_.runtime_version)) {
    return false;
  }
  if (work.knows != Knows::BY_ARGUMENT) {
    return work.knows != Knows::NOTHING &&
           !(on_device(destination) && on_device(source) &&
             hip_quirk_seen(HipQuirk::kDeviceCopyReturnsAtOnce, facts_.runtime_version));
  }
  if (reads_source(copy) != ReadsSource::kBeforeReturn) return false;
  return plain(destination) || plain(source) ||
         (destination->host_visible() && source->host_visible());
}

DeviceWork::ReadsSource DeviceWork::reads_source(const format::Copy& copy) const {
  if (!plain(allocations_.by_id(copy.source.allocation)) ||
      !on_device(allocations_.by_id(copy.destination.allocation)) ||
      copy.width_bytes * copy.height * copy.depth > kMostStagedBytes ||
      !hip_quirk_seen(HipQuirk::kPlainSourceIsStaged, facts_.runtime_version)) {
    return ReadsSource::kBeforeReturn;
  }
  if (copy.destination.pitch_bytes == 0) return ReadsSource::kAtOnce;
  return facts_.runtime_version >= kRowsReturnAtOnceFrom ? ReadsSource::kWhenItRuns
                                                         : ReadsSource::kBeforeReturn;
}

bool DeviceWork::take_source_at_once(const RawCopy& raw, format::Copy& copy, Work& work) {
  Allocation* const source = allocations_.by_id(copy.source.allocation);
  const uint64_t begin = copy.source.offset_bytes;
  if (work.in_graph || reads_source(copy) != ReadsSource::kAtOnce) return false;
  if (runs_.runs_to_come().empty() &&
      (source == nullptr ||
       flights_.over(source->id, begin, begin + copy_extent(raw, raw.source)).empty())) {
    return false;
  }
  auto& own = std::get<RawCopy>(work.raw);
  if (source != nullptr) own.source.address = source->host_address + begin;
  copy.source = {};
  work.source.before = take_rows(own, own.source, true);
  return true;
}

bool DeviceWork::resolve_copy_end(const RawCopyEnd& raw, MemorySide side, uint64_t size_bytes,
                                  Work& work, format::CopyEnd& end) {
  end.pitch_bytes = raw.pitch_bytes;
  end.slice_bytes = raw.slice_bytes;
  uint64_t offset = 0;
  Allocation* allocation = allocations_.allocation_at(raw.address, offset);
  if (allocation == nullptr && work.in_graph && side != MemorySide::kDevice) {
    allocation = allocations_.find_adopted(raw.address, size_bytes);
    if (allocation != nullptr) offset = raw.address - allocation->host_address;
  }
  if (allocation != nullptr) {
    traced_.take_in_trace(*allocation);
    end.allocation = allocation->id;
    end.offset_bytes = offset;
    work.leaves_memory = work.leaves_memory || offset > allocation->size_bytes ||
                         size_bytes > allocation->size_bytes - offset;
    return true;
  }
  if (side != MemorySide::kDevice) return true;  // plain host memory
  work.leaves_memory = true;
  finding(format::FindingKind::kIncomplete, work.call,
          "device memory outside every recorded allocation");
  return false;
}

// Whether the event of this copy from pinned to device memory contains the copied bytes, as for
// plain memory. Without them the bytes are a separate host write before the copy, and a replay has
// to wait until it may make that write. Excluded is memory that others than the program write, and
// copies that the program may delay (by a kernel that reads host memory, or a stream that waits for
// a value) to write the source between the call and the copy, and what host functions fill that the
// copy follows. Of functions beside it, SourcesInFlight sees whether they wrote the source.
//
// Equal steps of a program must get equal events. So neither the current state of such a kernel nor
// a change of a small copy's bytes matters. A large copy, for example of weights, contains its
// bytes only if the trace does not have them yet.
bool DeviceWork::carries_bytes(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                               const format::CopyEnd& destination, const Work& work) {
  const Allocation* const target = allocations_.by_id(destination.allocation);
  const bool pinned = source.kind == format::AllocationKind::kHostPinned ||
                      source.kind == format::AllocationKind::kHostRegistered;
  if (work.in_graph || !pinned || !allocations_.map().follows_host() || source.plain_host ||
      target == nullptr || target->host_visible() || options_.checkpoints || size_bytes == 0 ||
      offset > source.size_bytes || size_bytes > source.size_bytes - offset) {
    return false;
  }
  if (source.reachable || source.was_reachable || source.watched || source.holds_values ||
      allocations_.any_value() || allocations_.any_reachable() ||
      source.device_wrote.overlap(offset, offset + size_bytes) ||
      !runs_.deferred().runs_before(events_.stream_id(work.stream)).empty()) {
    return false;
  }
  if (!source.begun || size_bytes <= kSmallBytes) return true;
  BlockReader blocks(source, (offset + size_bytes - 1) / kHostBlockBytes);
  for (uint64_t block = offset / kHostBlockBytes; block * kHostBlockBytes < offset + size_bytes;
       ++block) {
    if (block >= source.blocks.count() || blocks.hash(block) != source.blocks.known(block))
      return true;
  }
  return false;
}

bool DeviceWork::takes_other_bytes(const RawCopy& raw, const RawCopyEnd& memory, const char* call) {
  if (memory.pointer == 0) return false;
  uint64_t offset = 0;
  // Plain memory is copied as the call says.
  if (allocations_.allocation_at(memory.pointer, offset) == nullptr) return false;
  const auto seen = [&](HipQuirk quirk) { return hip_quirk_seen(quirk, facts_.runtime_version); };
  const bool rows_apart = raw.height * raw.depth > 1 && memory.pitch_bytes != 0 &&
                          memory.pitch_bytes != raw.width_bytes;
  const bool slices_apart = raw.depth > 1 && memory.slice_bytes != 0 &&
                            memory.slice_bytes != raw.width_bytes * raw.height;
  const char* why = nullptr;
  if (offset != 0 && seen(HipQuirk::kArrayCopyFromBeginning))
    why = "between an array and the middle of a buffer: this runtime copies the buffer's beginning";
  else if (memory.rows_bytes != 0 && seen(HipQuirk::kArrayCopyIgnoresRows))
    why = "between an array and later rows of a buffer: this runtime copies the first rows";
  else if ((rows_apart || slices_apart) && seen(HipQuirk::kArrayCopyIgnoresPitch))
    why =
        "between an array and rows of a buffer with bytes between them: this runtime ignores the "
        "pitch";
  if (why == nullptr) return false;
  finding(format::FindingKind::kIncomplete, call, why);
  return true;
}

std::optional<format::Copy> DeviceWork::make_copy(const RawCopy& raw, format::StreamId stream,
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
  if (takes_other_bytes(raw, raw.source, work.call) ||
      takes_other_bytes(raw, raw.destination, work.call))
    return std::nullopt;
  const auto size = [&](const RawCopyEnd& end) { return copy_extent(raw, end); };
  if (!resolve_copy_end(raw.destination, raw.destination_side, size(raw.destination), work,
                        copy.destination)) {
    return std::nullopt;
  }
  uint64_t source_offset = 0;
  Allocation* const pinned = allocations_.allocation_at(raw.source.address, source_offset);
  const bool carried = pinned != nullptr && carries_bytes(*pinned, source_offset, size(raw.source),
                                                          copy.destination, work);
  if (carried) {
    copy.source.allocation = pinned->id;  // for host_waits()
  } else if (!resolve_copy_end(raw.source, raw.source_side, size(raw.source), work, copy.source)) {
    return std::nullopt;
  }
  if (copy.destination.allocation == 0 && copy.source.allocation != 0) {
    if (const Allocation* adopted =
            host_writes_.find_adopted_for(raw.destination.address, size(raw.destination))) {
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
    if (!runs_.runs_to_come().empty()) work.source.in_flight = pinned->id;
  }
  if (copy.destination.allocation == 0 && copy.source.allocation == 0) return std::nullopt;
  const bool at_once = take_source_at_once(raw, copy, work);
  if (!at_once && copy.source.allocation == 0 && !carried && !work.in_graph && !work.host_waits &&
      reads_source(copy) == ReadsSource::kWhenItRuns) {
    work.source.runs = runs_.runs_to_come();
  }
  // Plain host memory is read by read_copy_source(), when the runtime has read it.
  if (Allocation* source = allocations_.by_id(copy.source.allocation);
      source != nullptr && source->host_visible() && !work.in_graph && !source->watched &&
      allocations_.map().follows_host()) {
    // Pinned memory that a host function may still fill: its bytes, read when that has run. Not if
    // the copy need not follow it, if work may still write the memory, or if the copy leads out of
    // every allocation.
    work.source.runs = runs_.runs_to_come();
    const uint64_t begin = copy.source.offset_bytes;
    const bool kept = copy.destination.allocation == 0 ||
                      runs_.deferred().functions_beside(stream) ||
                      !flights_.over(source->id, begin, begin + size(raw.source)).empty();
    if (!work.source.runs.empty() && !kept) {
      auto& own = std::get<RawCopy>(work.raw);
      own.source.address = source->host_address + begin;
      copy.source = {};
      copy.source_is_pinned = true;
    } else if (!work.source.runs.empty()) {
      work.source.runs.clear();
      // Records earlier writes of the program, so that they are not attributed to the functions.
      host_writes_.check_host_writes(*source, 0, source->size_bytes);
      runs_.effects().watch(*source);
    }
    if (work.host_waits) work.source.runs.clear();
  }
  if (Allocation* source = allocations_.by_id(copy.source.allocation);
      source != nullptr && source->host_visible() && allocations_.map().follows_host()) {
    if (!work.in_graph) {
      runs_.deferred().read_beside_functions(*source, copy.source.offset_bytes, size(raw.source),
                                             stream);
    }
    host_writes_.check_host_writes(*source, copy.source.offset_bytes, size(raw.source), &work);
    // Looks of others, at what a kernel has written in part, come behind the copy in the trace.
    if (!work.in_graph && !work.host_waits && kernels_may_write(copy.source, size(raw.source)))
      work.issuing_call = guard_.issuing().begin();
  }
  if (Allocation* target = allocations_.by_id(copy.destination.allocation)) {
    writes(work, *target, flight_of(copy));
  }
  return copy;
}

bool DeviceWork::kernels_may_write(const format::CopyEnd& source, uint64_t size_bytes) const {
  return flights_.any_kernel() && named_kernel(flights_.over(source.allocation, source.offset_bytes,
                                                             source.offset_bytes + size_bytes));
}

// Its call has waited for the kernels that it follows. What they have left in its source is written
// before it: others may have looked meanwhile, and have written what was there in between.
void DeviceWork::take_in_source(const RawCopy& raw, const format::Copy& copy) {
  if (copy.asynchronous || copy.source.allocation == 0 ||
      !kernels_may_write(copy.source, copy_extent(raw, raw.source))) {
    return;
  }
  host_writes_.land(flights_.land_kernels(copy.stream));
}

std::optional<format::Content> DeviceWork::take_rows(const RawCopy& raw, const RawCopyEnd& end,
                                                     bool store) {
  const std::optional<HostRows> rows = HostRows::of(raw, end);
  if (!rows) return std::nullopt;
  return contents_.take_content(
      rows->size_bytes(), store, allocations_.words(), nullptr,
      [&](uint64_t offset, std::span<std::byte> piece) { return rows->read(offset, piece); });
}

bool DeviceWork::read_copy_source(const RawCopy& raw, format::Copy& copy, Work* work) {
  if (copy.source.allocation != 0) return true;
  auto content = take_rows(raw, raw.source, true);
  if (work != nullptr && work->source.before) {
    const bool changed = !content || content->hash != work->source.before->hash;
    // A copy on the null stream that waits has read its source before it waited.
    if (changed && (copy.asynchronous || work->stream != null_stream(current_device))) {
      finding(format::FindingKind::kIncomplete, work->call,
              "a host function filled the source during the call: which bytes were copied is "
              "unknown (docs/runtime-quirks.md, kPlainSourceIsStaged)");
    }
    content = std::move(work->source.before);
  }
  const bool known = content.has_value();
  if (known) copy.host_source = *std::move(content);
  return known;
}

void DeviceWork::receive_copy_result(const Work& work, format::Copy& copy) {
  const auto* raw = std::get_if<RawCopy>(&work.raw);
  if (raw == nullptr || copy.destination.allocation != 0) return;
  if (options_.contents == WhichContents::kNone || options_.contents == WhichContents::kInPlace)
    return;
  if (copy.asynchronous) return;  // not there yet: unknown, and replay says so
  if (auto content = take_rows(*raw, raw->destination, options_.post == PostState::kFull)) {
    copy.host_result = *std::move(content);
  }
}

}  // namespace gfxgraph::recorder
