// Streams, events and synchronisation.
#include "base/hip_quirks.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

void Recorder::stream_created(Handle stream, uint32_t flags, int priority) noexcept {
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    if (stretch_.whole())
      return events_.know_stream(
          stream, events_.streams().made(flags, priority, DeviceStreams::device_of(stream)));
    events_.forget_stream(stream);
    events_.streams().made_outside(stream, flags, priority);
  });
}

format::StreamId Recorder::stream_leaves(Handle stream) noexcept {
  format::StreamId id = 0;
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    events_.streams().forget_unused(stream);
    id = events_.streams().find(stream).value_or(0);
    if (id != 0) events_.forget_stream(stream);
  });
  return id;
}

void Recorder::stream_destroyed(format::StreamId id, bool waited) noexcept {
  if (id == 0) return;
  guarded([&] {
    if (waited && !stretch_.outside())
      events_.append(format::Synchronize{events_.of_itself(id), id, "hipStreamDestroy"});
    events_.append(format::StreamDestroy{id});
  });
  drain();
}

void Recorder::event_created(Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (stretch_.whole()) return events_.append(events_.streams().event_made(event, flags));
    events_.streams().event_made_outside(event, flags);
  });
}

void Recorder::event_destroyed(Handle event) noexcept {
  guarded([&] {
    graphs_.captures().forget_event(event);
    if (const auto id = events_.streams().forget_event(event))
      events_.append(format::EventDestroy{*id});
  });
}

void Recorder::event_recorded(Handle event, Handle stream) noexcept {
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
  drain_if_full();
}

void Recorder::stream_waits(Handle stream, Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (graphs_.captures().wait_event(stream, event) || stretch_.outside()) return;
    const format::EventId id = events_.event_id(event);
    events_.append(format::StreamWait{events_.stream_id(stream), id, flags});
  });
  drain_if_full();
}

[[gnu::hot]] void Recorder::call_begins(bool joins) noexcept {
  if (!joins && stretch_.leaving()) [[unlikely]]
    leave_now();
  events_.call_tells_nothing_yet();
  // A call that begins outside of a recorded section needs no ticket.
  if (stretch_.call_begins() || !launches_.idle()) events_.call_begins();
}

void Recorder::synchronized(format::SynchronizeKind kind, Handle object,
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
        if (std::exchange(waited_for_all, false)) events_.append_devices_done(call);
        return;
      }
      events_.know_device(current_device);
      id = current_device;
    }
    events_.append(format::Synchronize{kind, id, std::string(call)});
    reads_wait = contents_.any_read();
  });
  // They have come, most likely, and hold memory that later ones need.
  if (reads_wait) return drain();
  drain_at_wait();
}

void Recorder::host_may_learn() noexcept {
  events_.call_may_tell();
  if (!launches_.kernels_fly()) return;
  guarded([&] {
    // First: what they told of, the program may have written over beside a kernel.
    events_.note_runs_if_any();
    host_writes_.look_before_wait();
  });
}

void Recorder::stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept {
  work_.stream_waits(stream, wait, call);
  drain_if_full();
}

void Recorder::commit(Work&& work) noexcept {
  work_.commit(std::move(work));
  drain_if_full();
}

}  // namespace gfxgraph::recorder
