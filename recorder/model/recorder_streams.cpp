// Streams, events and synchronisation.
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

format::StreamId Recorder::stream_id(Handle stream) {
  if (const auto id = streams_.find(stream)) return *id;
  const format::StreamCreate create = streams_.first_used(stream);
  know_stream(stream, create);
  return create.id;
}

// No launch into it comes before its event.
void Recorder::know_stream(Handle stream, const format::StreamCreate& create) {
  append(create);
  const LaunchLanes::Alone alone(journal_.lanes());
  streams_.know(stream, create.id);
}

void Recorder::forget_stream(Handle stream) {
  const LaunchLanes::Alone alone(journal_.lanes());
  streams_.forget(stream);
}

format::EventId Recorder::event_id(Handle event) {
  if (const auto id = streams_.find_event(event)) return *id;
  const format::EventCreate create = streams_.event_first_used(event);
  append(create);
  return create.id;
}

void Recorder::stream_created(Handle stream, uint32_t flags, int priority) noexcept {
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    if (selection_.empty()) return know_stream(stream, streams_.made(flags, priority));
    forget_stream(stream);
    streams_.made_outside(stream, flags, priority);
  });
}

format::StreamId Recorder::stream_leaves(Handle stream) noexcept {
  format::StreamId id = 0;
  guarded([&] {
    graphs_.captures().forget_stream(stream);
    streams_.forget_unused(stream);
    id = streams_.find(stream).value_or(0);
    if (id != 0) forget_stream(stream);
  });
  return id;
}

void Recorder::stream_destroyed(format::StreamId id, bool waited) noexcept {
  if (id == 0) return;
  guarded([&] {
    if (waited && !outside()) append(format::Synchronize{of_itself(id), id, "hipStreamDestroy"});
    append(format::StreamDestroy{id});
  });
  drain();
}

void Recorder::event_created(Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (selection_.empty()) return append(streams_.event_made(event, flags));
    streams_.event_made_outside(event, flags);
  });
}

void Recorder::event_destroyed(Handle event) noexcept {
  guarded([&] {
    graphs_.captures().forget_event(event);
    if (const auto id = streams_.forget_event(event)) append(format::EventDestroy{*id});
  });
}

void Recorder::event_recorded(Handle event, Handle stream) noexcept {
  guarded([&] {
    if (graphs_.captures().capturing(stream)) {
      graphs_.captures().record_event(event, stream);
      return;
    }
    graphs_.captures().forget_event(event);
    if (outside()) return;
    const format::EventId id = event_id(event);
    append(format::EventRecord{id, stream_id(stream)});
  });
  drain_if_full();
}

void Recorder::stream_waits(Handle stream, Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (graphs_.captures().wait_event(stream, event) || outside()) return;
    const format::EventId id = event_id(event);
    append(format::StreamWait{stream_id(stream), id, flags});
  });
  drain_if_full();
}

}  // namespace gfxgraph::recorder
