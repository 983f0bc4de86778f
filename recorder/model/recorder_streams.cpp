// Streams, events and synchronisation.
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

format::StreamId Recorder::stream_id(Handle stream) {
  if (stream == nullptr) return 0;
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  const format::StreamId id = next_stream_++;
  format::StreamCreate create{id, 0, 0};
  if (const auto unused = unused_streams_.find(stream); unused != unused_streams_.end()) {
    create.flags = unused->second.flags;
    create.priority = unused->second.priority;
    if (!segments_) unused_streams_.erase(unused);
  } else {
    own_streams_.insert(id);  // a thread's own default stream, or one whose creation was not seen
  }
  know_stream(stream, create);
  return id;
}

// No launch into it comes before its event.
void Recorder::know_stream(Handle stream, const format::StreamCreate& create) {
  append(create);
  const LaunchLanes::Alone alone(queue_.lanes());
  streams_[stream] = create.id;
}

void Recorder::forget_stream(Handle stream) {
  const LaunchLanes::Alone alone(queue_.lanes());
  streams_.erase(stream);
}

format::EventId Recorder::event_id(Handle event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  const format::EventId id = next_event_++;
  events_[event] = id;
  const auto unused = unused_events_.find(event);
  append(format::EventCreate{id, unused == unused_events_.end() ? 0 : unused->second});
  if (unused != unused_events_.end() && !segments_) unused_events_.erase(unused);
  return id;
}

void Recorder::stream_created(Handle stream, uint32_t flags, int priority) noexcept {
  guarded([&] {
    captures_.forget_stream(stream);
    if (!selection_.empty()) {
      forget_stream(stream);
      unused_streams_[stream] = {flags, priority};
      return;
    }
    know_stream(stream, {next_stream_++, flags, priority});
  });
}

format::StreamId Recorder::stream_leaves(Handle stream) noexcept {
  format::StreamId id = 0;
  guarded([&] {
    captures_.forget_stream(stream);
    unused_streams_.erase(stream);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    id = found->second;
    forget_stream(stream);
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
    if (!selection_.empty()) {
      events_.erase(event);
      unused_events_[event] = flags;
      return;
    }
    const format::EventId id = next_event_++;
    events_[event] = id;
    append(format::EventCreate{id, flags});
  });
}

void Recorder::event_destroyed(Handle event) noexcept {
  guarded([&] {
    captures_.forget_event(event);
    unused_events_.erase(event);
    const auto found = events_.find(event);
    if (found == events_.end()) return;
    append(format::EventDestroy{found->second});
    events_.erase(found);
  });
}

void Recorder::event_recorded(Handle event, Handle stream) noexcept {
  guarded([&] {
    if (captures_.capturing(stream)) {
      captures_.record_event(event, stream);
      return;
    }
    captures_.forget_event(event);
    if (outside()) return;
    const format::EventId id = event_id(event);
    append(format::EventRecord{id, stream_id(stream)});
  });
  drain_if_full();
}

void Recorder::stream_waits(Handle stream, Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (captures_.wait_event(stream, event) || outside()) return;
    const format::EventId id = event_id(event);
    append(format::StreamWait{stream_id(stream), id, flags});
  });
  drain_if_full();
}

}  // namespace gfxgraph::recorder
