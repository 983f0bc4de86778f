// Values that streams write to memory or wait for.
//
// The trace stores a wait for a value as the order that it creates. If a stream wrote a value that
// ends the wait before the wait was issued, and nothing else may have written the same bytes since,
// the waiting stream follows the writing stream, as after an event. The program must be correct if
// that write ends its wait. So a replay never waits for a value that may not arrive, and has the
// same order in each run, whatever the memory contained before. All other waits make the trace
// incomplete: those for values that the host, a kernel or, later, a stream writes.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/hip_quirks.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_memory.h"
#include "recorder/objects/devices.h"
#include "recorder/program_memory.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {

// The runtime executes this as a memset of one element, or as a copy of eight bytes that the
// program passed, and the trace stores it as such. A pointer has eight bytes, and the words of a
// copy are relocated.
std::optional<format::Action> DeviceWork::make_write(const RawWrite& raw, format::StreamId stream,
                                                     Work& work) {
  if (Allocation* target = allocations_.find_seen(raw.address)) allocations_.hold_value(*target);
  if (raw.size_bytes == 4 && raw.address % 4 == 0) {
    RawMemset set;
    set.address = raw.address;
    set.element_bytes = 4;
    set.value = static_cast<uint32_t>(raw.value);
    set.width_elements = 1;
    auto made = make_memset(set, stream, work);
    if (!made) return std::nullopt;
    return format::Action(*std::move(made));
  }
  format::Copy copy;
  if (!resolve_copy_end({raw.address, 0, 0}, MemorySide::kDevice, raw.size_bytes, work,
                        copy.destination)) {
    return std::nullopt;
  }
  copy.width_bytes = raw.size_bytes;
  copy.asynchronous = true;
  copy.stream = stream;
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &raw.value, bytes.size());
  copy.host_source = contents_.make_content(std::span(bytes).first(raw.size_bytes), true);
  if (Allocation* target = allocations_.by_id(copy.destination.allocation)) {
    writes(work, *target, flight_of(copy));
  }
  return format::Action(std::move(copy));
}

// The trace already has the work.
void DeviceWork::follow_values(const Work& work) {
  if (work.leads_outside) values_.lose_all();
  for (const format::AllocationId id : work.given) {
    Allocation* const given = allocations_.by_id(id);
    if (given == nullptr || !given->holds_values) continue;
    given->kernels_write_values = true;
    values_.lose(id);
  }
  for (const Flight& flight : work.over_values) {
    values_.lose(flight.allocation, flight.begin, flight.end);
  }
  const auto* const raw = std::get_if<RawWrite>(&work.raw);
  if (raw == nullptr || work.over_values.size() != 1) return;
  const Flight& flight = work.over_values.front();
  StreamValue value{flight.allocation, flight.begin, flight.end, raw->value,
                    events_.stream_id(work.stream)};
  if (const Allocation* target = allocations_.by_id(flight.allocation); target->host_visible()) {
    if (graphs_.captures().capturing(work.stream)) return;  // a read would be captured
    if (DeviceStreams::device_of(work.stream) != 0 || target->unregisters()) return;
    value.behind = device_.read_behind(const_cast<void*>(work.stream),
                                       target->address + flight.begin, raw->size_bytes, true);
    if (!value.behind) return;
  }
  values_.write(std::move(value));
}

void DeviceWork::note_unknown_wait(const char* call, const char* why) {
  finding(format::FindingKind::kIncomplete, call,
          std::string(why) +
              ": order the streams by events instead, or write the value by "
              "hipStreamWriteValue32 or 64 before the wait is issued");
}

void DeviceWork::follow_value(const RawValueWait& wait, format::StreamId stream, const char* call) {
  Allocation* const memory = allocations_.find_seen(wait.address);
  if (memory == nullptr)
    return note_unknown_wait(call, "waits for memory outside every allocation");
  allocations_.hold_value(*memory);
  const bool by_host = memory->distance(wait.address) != 0;
  const uint64_t begin = wait.address - (by_host ? memory->host_address : memory->address);
  const uint64_t end = begin + wait.size_bytes;
  if (!ends_wait(wait, 0)) return note_unknown_wait(call, "waits with an unknown condition");
  if (memory->kernels_write_values || memory->in_memory || memory->reachable) {
    return note_unknown_wait(call, "waits for a value that a kernel may write");
  }
  const StreamValue* const written = values_.find(memory->id, begin, end);
  uint64_t now = written == nullptr ? 0 : written->value;
  if (memory->host_visible()) {
    host_writes_.check_host_writes(*memory, begin, wait.size_bytes);
    if (written == nullptr && !flights_.over(memory->id, begin, end).empty()) {
      return note_unknown_wait(call, "waits for a value that a copy or memset may write");
    }
    if (written == nullptr || written->landed()) {
      now = 0;
      if (!read_program(memory->host_address + begin,
                        std::as_writable_bytes(std::span(&now, 1)).first(wait.size_bytes))) {
        return note_unknown_wait(call, "waits for memory that cannot be read");
      }
    }
  } else if (written == nullptr) {
    return note_unknown_wait(call, "waits for a value that is not known to be written before it");
  }
  if (!*ends_wait(wait, now)) {
    return note_unknown_wait(call, "waits for a value that is written after it, or by the host");
  }
  finding(format::FindingKind::kNote, call,
          "a replay orders the stream after the one that wrote the value, and does not wait for "
          "the value");
  if (written == nullptr || written->stream == stream) return;
  const format::EventId event = events_.event_id(&values_);
  events_.append(format::EventRecord{event, written->stream});
  events_.append(format::StreamWait{stream, event, 0});
}

bool DeviceWork::captures_values_now(Handle stream) const {
  return facts_.runtime_version >= kStreamValueNodesFrom && graphs_.captures().capturing(stream);
}

bool DeviceWork::captures_values(Handle stream) noexcept {
  bool result = false;
  guarded([&] { result = captures_values_now(stream); });
  return result;
}

void DeviceWork::stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept {
  guarded([&] {
    const bool nodes = captures_values_now(stream);
    if (stretch_.outside() && !nodes) return;
    if (graphs_.captures().capturing(stream) &&
        !hip_quirk_seen(HipQuirk::kStreamValueNotCaptured, facts_.runtime_version)) {
      const uint64_t whole = wait.size_bytes == 4 ? 0xffffffffu : ~uint64_t{0};
      if (!nodes || wait.mask != whole) {
        return finding(format::FindingKind::kIncomplete, call,
                       wait.mask != whole ? "with a mask, inside a stream capture"
                                          : "inside a stream capture");
      }
      RawValueList node;
      node.given.push_back(
          {RawListedValue::Kind::kWait, wait.address, wait.size_bytes, wait.value, wait.condition});
      return graphs_.captures().add(stream, std::move(node));
    }
    follow_value(wait, events_.stream_id(stream), call);
  });
}

std::vector<FlatNode> DeviceWork::with_single_values(std::span<const FlatNode> nodes,
                                                     const char* call,
                                                     std::vector<NodeWait>& waits) {
  std::vector<FlatNode> result;
  std::vector<uint32_t> last;  // of each node, its last one in `result`
  for (const FlatNode& node : nodes) {
    std::vector<uint32_t> dependencies;
    for (const uint32_t earlier : node.dependencies) dependencies.push_back(last[earlier]);
    const auto add = [&](RawAction action) {
      FlatNode& one = result.emplace_back();
      one.action = std::move(action);
      one.dependencies = std::exchange(dependencies, {static_cast<uint32_t>(result.size() - 1)});
    };
    const auto* const list = std::get_if<RawValueList>(&node.action);
    if (list == nullptr) {
      add(node.action);
    } else {
      const std::vector<RawListedValue> values = listed_now(*list, call);
      const size_t before = result.size();
      for (size_t i = 0; i < values.size(); ++i) {
        const RawListedValue& value = values[i];
        if (value.kind == RawListedValue::Kind::kWrite) {
          add(RawWrite{value.address, value.size_bytes, value.value});
        } else if (value.kind == RawListedValue::Kind::kOther) {
          finding(format::FindingKind::kIncomplete, call,
                  "a batch memory operation that is neither a write nor a wait");
        } else {
          wait_in_list(values, i, call, waits);
        }
      }
      if (result.size() == before) add({});  // what follows the node follows those before it
    }
    last.push_back(static_cast<uint32_t>(result.size() - 1));
  }
  return result;
}

std::vector<RawListedValue> DeviceWork::listed_now(const RawValueList& list, const char* call) {
  if (!hip_quirk_seen(HipQuirk::kNodeListReadAtLaunch, facts_.runtime_version)) return list.given;
  std::vector<std::byte> bytes(list.size_bytes);
  if (read_program(list.address, bytes)) return list.parse(bytes);
  finding(format::FindingKind::kIncomplete, call,
          "the list of a node of batch memory operations cannot be read");
  return {};
}

void DeviceWork::wait_in_list(std::span<const RawListedValue> list, size_t at, const char* call,
                              std::vector<NodeWait>& waits) {
  const RawListedValue& value = list[at];
  const RawValueWait wait{value.address, value.size_bytes, value.value,
                          value.size_bytes == 4 ? 0xffffffffu : ~uint64_t{0}, value.condition};
  const auto over = [&](const RawListedValue& other) {
    return other.kind == RawListedValue::Kind::kWrite &&
           other.address < value.address + value.size_bytes &&
           value.address < other.address + other.size_bytes;
  };
  for (size_t i = at; i-- > 0;) {
    if (!over(list[i])) continue;
    const bool same = list[i].address == value.address && list[i].size_bytes == value.size_bytes;
    const std::optional<bool> ends = ends_wait(wait, list[i].value);
    if (!same || !ends || !*ends)
      note_unknown_wait(call,
                        "waits for a value other than the one that its list wrote there before");
    return;
  }
  if (Allocation* const memory = allocations_.find_seen(value.address))
    allocations_.hold_value(*memory);
  waits.push_back({wait, static_cast<size_t>(std::ranges::count_if(list.subspan(at), over))});
}

void DeviceWork::follow_node_values(std::span<const NodeWait> waits, const Work& work) {
  for (const NodeWait& one : waits) {
    const Allocation* const memory = allocations_.find_seen(one.wait.address);
    if (memory != nullptr) {
      const uint64_t begin =
          one.wait.address -
          (memory->distance(one.wait.address) == 0 ? memory->address : memory->host_address);
      const auto written = std::ranges::count_if(work.over_values, [&](const Flight& flight) {
        return flight.allocation == memory->id && flight.begin < begin + one.wait.size_bytes &&
               begin < flight.end;
      });
      if (static_cast<size_t>(written) != one.written_later || work.leads_outside ||
          work.given.contains(memory->id)) {
        note_unknown_wait(work.call, "waits for a value that another node may write");
        continue;
      }
    }
    follow_value(one.wait, events_.stream_id(work.stream), work.call);
  }
}

}  // namespace gfxgraph::recorder
