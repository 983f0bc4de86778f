#include "recorder/calls/stream_calls.h"

#include <utility>

#include "base/hip_quirks.h"
#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

void StreamCalls::stream_created(Handle stream, uint32_t flags, int priority) noexcept {
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    if (stretch_.whole())
      return events_.know_stream(
          stream, events_.streams().made(flags, priority, DeviceStreams::device_of(stream)));
    events_.forget_stream(stream);
    events_.streams().made_outside(stream, flags, priority);
  });
}

LeavingStream StreamCalls::stream_leaves(Handle stream) noexcept {
  LeavingStream leaving;
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    events_.streams().forget_unused(stream);
    leaving = {events_.streams().find(stream).value_or(0), events_.streams().numbering()};
    if (leaving.id != 0) events_.forget_stream(stream);
  });
  return leaving;
}

void StreamCalls::stream_destroyed(LeavingStream stream, bool waited) noexcept {
  const format::StreamId id = stream.id;
  if (id == 0) return;
  guarded([&] {
    if (stream.numbering != events_.streams().numbering()) return;
    if (waited && !stretch_.outside())
      events_.append(format::Synchronize{events_.of_itself(id), id, "hipStreamDestroy"});
    events_.append(format::StreamDestroy{id});
  });
  handover_.drain();
}

void StreamCalls::event_created(Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (stretch_.whole()) return events_.append(events_.streams().event_made(event, flags));
    events_.streams().event_made_outside(event, flags);
  });
}

void StreamCalls::event_destroyed(Handle event) noexcept {
  guarded([&] {
    graphs_.captures().forget_event(event);
    if (const auto id = events_.streams().forget_event(event))
      events_.append(format::EventDestroy{*id});
  });
}

void StreamCalls::event_recorded(Handle event, Handle stream) noexcept {
  guarded([&] {
    if (graphs_.captures().capturing(stream)) {
      graphs_.captures().record_event(event, stream);
      return;
    }
    graphs_.captures().forget_event(event);
    if (stretch_.outside()) return;
    const format::EventId id = events_.event_id(event);
    events_.append(format::EventRecord{id, events_.stream_id(stream)});
  });
  handover_.drain_if_full();
}

void StreamCalls::stream_waits(Handle stream, Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (graphs_.captures().wait_event(stream, event) || stretch_.outside()) return;
    const format::EventId id = events_.event_id(event);
    events_.append(format::StreamWait{events_.stream_id(stream), id, flags});
  });
  handover_.drain_if_full();
}

[[gnu::hot]] void StreamCalls::call_begins(bool joins) noexcept {
  if (!joins && stretch_.leaving()) [[unlikely]]
    sections_.leave_now();
  events_.call_tells_nothing_yet();
  // A call that begins outside of a recorded section needs no ticket.
  if (stretch_.call_begins() || !launches_.idle()) events_.call_begins();
}

void StreamCalls::synchronized(format::SynchronizeKind kind, Handle object,
                               std::string_view call) noexcept {
  bool reads_wait = false;
  guarded([&] {
    if (stretch_.outside()) return;
    const bool may_wait_for_device =
        call == "hipHostUnregister" || call == "hipFreeArray" || call == "hipArrayDestroy";
    if (may_wait_for_device &&
        hip_quirk_seen(HipQuirk::kUnregisterWaitsForDevice, facts_.runtime_version)) {
      kind = format::SynchronizeKind::kDevice;
    }
    uint32_t id = 0;
    if (kind == format::SynchronizeKind::kStream || kind == format::SynchronizeKind::kStreamItself)
      id = events_.stream_id(object);
    if (kind == format::SynchronizeKind::kStreamItself) kind = events_.of_itself(id);
    // Other calls give the stream work, which follows the null stream's.
    if ((call.starts_with("hipStreamSynchronize") || call.starts_with("hipStreamQuery")) &&
        !hip_quirk_seen(HipQuirk::kStreamWaitsForNullStream, facts_.runtime_version)) {
      kind = events_.of_itself(id);
    }
    if (kind == format::SynchronizeKind::kEvent) id = events_.event_id(object);
    if (kind == format::SynchronizeKind::kDevice) {
      // What other calls than these wait for, of several devices, differs between runtimes.
      const bool frees = call.starts_with("hipFree") || call.starts_with("hipHostFree");
      if (DeviceStreams::several() && frees) {
        if (std::exchange(waited_for_all_, false)) events_.append_devices_done(call);
        return;
      }
      events_.know_device(current_device);
      id = current_device;
    }
    events_.append(format::Synchronize{kind, id, std::string(call)});
    reads_wait = late_reads_.any();
  });
  // They have come, most likely, and hold memory that later ones need.
  if (reads_wait) return handover_.drain();
  handover_.drain_at_wait();
}

void StreamCalls::host_may_learn() noexcept {
  events_.call_may_tell();
  if (!launches_.kernels_fly()) return;
  guarded([&] {
    // First: what they told of, the program may have written over beside a kernel.
    events_.note_runs_if_any();
    host_writes_.look_before_wait();
  });
}

void StreamCalls::stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept {
  work_.stream_waits(stream, wait, call);
  handover_.drain_if_full();
}

}  // namespace gfxgraph::recorder
