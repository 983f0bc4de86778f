// Who gave work to which stream last: detects work whose order is only known from concurrent calls
// of several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "format/trace.h"
#include "recorder/queue/launch_lane.h"

namespace gfxgraph::recorder {

class StreamUses {
 public:
  // Alone (LaunchLanes::Alone).
  // `null_stream`: of its device; the stream itself: it is one.
  void add(format::StreamId stream, bool blocking, format::StreamId null_stream = 0);

  // With the recorder's mutex or the lane's. The caller's thread gives work to the stream, and drew
  // `ticket` for it in a call before which `before` was drawn last. Whether another thread gave
  // work meanwhile to the same stream, or to one with which it shares an order: the null stream and
  // those that wait for it. `lane`: the thread's, if it has one. `single`: with its lock, and the
  // only one (LaunchLanes::single()).
  bool overlaps(format::StreamId stream, uint64_t ticket, uint64_t before, uint32_t thread,
                LaunchLane* lane, const LaunchLanes& lanes, bool single = false);

  // As it was added; alone, or with a lane's lock.
  bool blocking(format::StreamId stream) const {
    return !is_null(stream) && stream < streams_.size() && streams_[stream].blocking;
  }
  // With the recorder's mutex. The stream, whose last use was `before`, was made to wait for an
  // event, which gives it no work that follows the null stream's.
  void waits(format::StreamId stream, uint64_t before);
  uint64_t last(format::StreamId stream) const {
    return stream < streams_.size() ? streams_[stream].last.load() : 0;
  }
  // Whether the null stream, which it waits for, was given work since it was itself. As blocking().
  bool before_null_stream(format::StreamId stream) const;
  bool is_null(format::StreamId stream) const {
    return stream == 0 || (stream < streams_.size() && streams_[stream].null_stream == stream);
  }
  // Whether nobody has given work to the stream, which is known, with a later ticket.
  bool unused_since(format::StreamId stream, uint64_t ticket) const {
    return stream >= streams_.size() || ticket_of(streams_[stream].last.load()) <= ticket;
  }

 private:
  struct alignas(64) Use {  // threads with streams of their own share no cache line
    bool blocking = true;   // the null stream waits for it
    format::StreamId null_stream = 0;
    std::atomic<uint64_t> last{0};
    // If the last use only made it wait for an event: that, and the last one which did not.
    std::atomic<uint64_t> wait{0};
    std::atomic<uint64_t> before_wait{0};
  };
  // By stream; the null stream, 0, is there from the beginning.
  std::deque<Use> streams_ = std::deque<Use>(1);
};

}  // namespace gfxgraph::recorder
