// Streams, events and synchronisation.
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

format::StreamId Recorder::stream_id(Handle stream) {
  if (stream == nullptr) return 0;
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  // A thread's own default stream, or one whose creation was not seen.
  const format::StreamId id = next_stream_++;
  streams_[stream] = id;
  own_streams_.insert(id);
  append(format::StreamCreate{id, 0, 0});
  return id;
}

format::EventId Recorder::event_id(Handle event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  const format::EventId id = next_event_++;
  events_[event] = id;
  append(format::EventCreate{id, 0});
  return id;
}

void Recorder::stream_created(Handle stream, uint32_t flags, int priority) noexcept {
  guarded([&] {
    captures_.forget_stream(stream);
    const format::StreamId id = next_stream_++;
    streams_[stream] = id;
    append(format::StreamCreate{id, flags, priority});
  });
}

void Recorder::stream_destroyed(Handle stream) noexcept {
  guarded([&] {
    captures_.forget_stream(stream);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;
    append(format::StreamDestroy{found->second});
    streams_.erase(found);
  });
}

void Recorder::event_created(Handle event, uint32_t flags) noexcept {
  guarded([&] {
    const format::EventId id = next_event_++;
    events_[event] = id;
    append(format::EventCreate{id, flags});
  });
}

void Recorder::event_destroyed(Handle event) noexcept {
  guarded([&] {
    captures_.forget_event(event);
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
    const format::EventId id = event_id(event);
    append(format::EventRecord{id, stream_id(stream)});
  });
  drain_if_full();
}

void Recorder::stream_waits(Handle stream, Handle event, uint32_t flags) noexcept {
  guarded([&] {
    if (captures_.wait_event(stream, event)) return;
    const format::EventId id = event_id(event);
    append(format::StreamWait{stream_id(stream), id, flags});
  });
  drain_if_full();
}

}  // namespace gfxgraph::recorder
