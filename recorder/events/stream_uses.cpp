#include "recorder/events/stream_uses.h"

namespace gfxgraph::recorder {

void StreamUses::add(format::StreamId stream, bool blocking, format::StreamId null_stream) {
  while (streams_.size() <= stream) streams_.emplace_back();
  streams_[stream].blocking = blocking;
  streams_[stream].null_stream = null_stream;
}

void StreamUses::waits(format::StreamId stream, uint64_t before) {
  Use& use = streams_[stream];
  if (before != use.wait.load()) use.before_wait.store(before);
  use.wait.store(use.last.load());
}

bool StreamUses::before_null_stream(format::StreamId stream) const {
  if (!blocking(stream)) return false;
  const Use& use = streams_[stream];
  const uint64_t last = use.last.load();
  const uint64_t work = last == use.wait.load() ? use.before_wait.load() : last;
  return ticket_of(work) < ticket_of(streams_[use.null_stream].last.load());
}

[[gnu::hot]] bool StreamUses::overlaps(format::StreamId stream, uint64_t ticket, uint64_t before,
                                       uint32_t thread, LaunchLane* lane, const LaunchLanes& lanes,
                                       bool single) {
  const uint64_t own = stamped(ticket, thread);
  const auto overlaps = [&](uint64_t last) {
    return ticket_of(last) > before && !same_thread(last, own);
  };
  Use& use = streams_[stream];
  // A thread that exchanges the null stream's use after the next exchange sees this value.
  if (use.blocking && lane != nullptr && stream != 0 && use.null_stream == 0)
    lane->last_blocking.store(own, std::memory_order_release);
  // Of two concurrent exchanges, the second one returns the value of the first. An exchange waits
  // for all earlier writes of this processor: without another thread there is none.
  uint64_t last = use.last.load(std::memory_order_relaxed);
  if (single) {
    use.last.store(own, std::memory_order_release);
  } else {
    last = use.last.exchange(own);
  }
  bool found = overlaps(last);
  if (!use.blocking) return found;
  if (ticket == before + 1) return found;  // no other thread issued any work
  if (stream != use.null_stream) return found || overlaps(streams_[use.null_stream].last.load());
  if (stream != 0) {  // of another device than the first one, for which no lane keeps its last
    for (const Use& one : streams_)
      found |= one.blocking && one.null_stream == stream && overlaps(one.last.load());
    return found;
  }
  lanes.each([&](const LaunchLane& one) { found |= overlaps(one.last_blocking.load()); });
  return found;
}

}  // namespace gfxgraph::recorder
