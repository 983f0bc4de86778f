// Numbers of the program's streams and events in the trace. One that was made outside of the
// recorded ranges gets its number at its first use in one. With the recorder's lock; know(),
// forget() and clear() alone (LaunchLanes::Alone), because launches look up streams with only their
// lane's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "format/trace.h"
#include "recorder/handle.h"

namespace gfxgraph::recorder {

class StreamTable {
 public:
  // `keep`: earlier entries are needed again, for the next trace of the program.
  explicit StreamTable(bool keep) noexcept : keep_(keep) {}

  // ---- streams; the null stream, nullptr, is 0
  // ---------------------------------------------------
  std::optional<format::StreamId> find(Handle stream) const {
    if (stream == nullptr) return 0;
    const auto found = streams_.find(stream);
    return found == streams_.end() ? std::nullopt : std::optional(found->second);
  }
  // Its handle, unless only the thread that owns it can use that.
  std::optional<Handle> handle_of(format::StreamId id) const;
  // What the trace must contain before know(): for a new stream, or one that it has not seen.
  format::StreamCreate made(uint32_t flags, int priority, format::DeviceNumber device = 0) {
    return {next_++, flags, priority, device};
  }
  // A device's null stream, which Device records make.
  format::StreamId null_stream_made(Handle stream) {
    streams_[stream] = next_;
    return next_++;
  }
  format::StreamCreate first_used(Handle stream);
  void know(Handle stream, format::StreamId id) { streams_[stream] = id; }
  void forget(Handle stream) { streams_.erase(stream); }
  void made_outside(Handle stream, uint32_t flags, int priority) {
    unused_streams_[stream] = {flags, priority};
  }
  void forget_unused(Handle stream) { unused_streams_.erase(stream); }
  // A thread's own default stream, or one whose creation was not seen.
  bool own(format::StreamId id) const { return own_.contains(id); }
  // All but the null stream.
  const std::unordered_map<Handle, format::StreamId>& streams() const { return streams_; }

  // ---- events
  // ------------------------------------------------------------------------------------
  std::optional<format::EventId> find_event(Handle event) const;
  format::EventCreate event_made(Handle event, uint32_t flags);
  format::EventCreate event_first_used(Handle event);
  void event_made_outside(Handle event, uint32_t flags);
  std::optional<format::EventId> forget_event(Handle event);

  // For the next trace: nothing has a number.
  void number_anew();
  // Ids are those of one trace.
  uint64_t numbering() const noexcept { return numbering_; }
  // hipDeviceReset: nothing is there.
  void clear();

 private:
  struct Unused {
    uint32_t flags = 0;
    int priority = 0;
  };

  bool keep_;
  format::StreamId next_ = 1;
  format::EventId next_event_ = 1;
  uint64_t numbering_ = 0;
  std::unordered_map<Handle, format::StreamId> streams_;
  std::unordered_set<format::StreamId> own_;
  std::unordered_map<Handle, format::EventId> events_;
  std::unordered_map<Handle, Unused> unused_streams_;
  std::unordered_map<Handle, uint32_t> unused_events_;  // flags
};

}  // namespace gfxgraph::recorder
