#include "recorder/objects/stream_table.h"

#include <algorithm>

#include "recorder/objects/devices.h"

namespace gfxgraph::recorder {

std::optional<Handle> StreamTable::handle_of(format::StreamId id) const {
  if (id == 0) return nullptr;
  if (own(id)) return std::nullopt;
  const auto found =
      std::ranges::find_if(streams_, [&](const auto& one) { return one.second == id; });
  return found == streams_.end() ? std::nullopt : std::optional(found->first);
}

format::StreamCreate StreamTable::first_used(Handle stream) {
  format::StreamCreate create{next_++, 0, 0, DeviceStreams::device_of(stream)};
  const auto unused = unused_streams_.find(stream);
  if (unused == unused_streams_.end()) {
    own_.insert(create.id);
    return create;
  }
  create.flags = unused->second.flags;
  create.priority = unused->second.priority;
  if (!keep_) unused_streams_.erase(unused);
  return create;
}

std::optional<format::EventId> StreamTable::find_event(Handle event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? std::nullopt : std::optional(found->second);
}

format::EventCreate StreamTable::event_made(Handle event, uint32_t flags) {
  events_[event] = next_event_;
  return {next_event_++, flags};
}

format::EventCreate StreamTable::event_first_used(Handle event) {
  const auto unused = unused_events_.find(event);
  const format::EventCreate create =
      event_made(event, unused == unused_events_.end() ? 0 : unused->second);
  if (unused != unused_events_.end() && !keep_) unused_events_.erase(unused);
  return create;
}

void StreamTable::event_made_outside(Handle event, uint32_t flags) {
  events_.erase(event);
  unused_events_[event] = flags;
}

std::optional<format::EventId> StreamTable::forget_event(Handle event) {
  unused_events_.erase(event);
  const std::optional<format::EventId> id = find_event(event);
  events_.erase(event);
  return id;
}

void StreamTable::number_anew() {
  streams_.clear();
  own_.clear();
  events_.clear();
  next_ = 1;
  next_event_ = 1;
  ++numbering_;
}

void StreamTable::clear() {
  streams_.clear();
  events_.clear();
  unused_streams_.clear();
  unused_events_.clear();
}

}  // namespace gfxgraph::recorder
