// Streams, events and synchronisation, as the program's calls say it; and the beginning of each
// call. Any thread, without locks.
#pragma once

#include <cstdint>
#include <string_view>

#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/launch/launches.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/late_reads.h"
#include "recorder/objects/graphs.h"
#include "recorder/recording/handover.h"
#include "recorder/recording/sections.h"
#include "recorder/selection/stretch.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {

// A stream that the program destroys: its id, 0 if the trace does not know it.
struct LeavingStream {
  format::StreamId id = 0;
  uint64_t numbering = 0;  // StreamTable's: another trace may begin meanwhile
};

class StreamCalls : private Part {
 public:
  StreamCalls(const Core& core, Stretch& stretch, Graphs& graphs, Events& events,
              LateReads& late_reads, HostWrites& host_writes, Launches& launches, DeviceWork& work,
              Handover& handover, Sections& sections) noexcept
      : Part(core),
        stretch_(stretch),
        graphs_(graphs),
        events_(events),
        late_reads_(late_reads),
        host_writes_(host_writes),
        launches_(launches),
        work_(work),
        handover_(handover),
        sections_(sections) {}

  // First in each call of the program, on its thread. Takes no lock, unless a recorded section is
  // over: `joins` false leaves it first.
  void call_begins(bool joins = false) noexcept;

  void stream_created(Handle stream, uint32_t flags, int priority) noexcept;
  // Its handle may be given to another stream from now on, its work may go on. And
  // when its end has returned, after it `waited` for that work or not.
  LeavingStream stream_leaves(Handle stream) noexcept;
  void stream_destroyed(LeavingStream stream, bool waited) noexcept;
  void event_created(Handle event, uint32_t flags) noexcept;
  void event_destroyed(Handle event) noexcept;
  void event_recorded(Handle event, Handle stream) noexcept;
  void stream_waits(Handle stream, Handle event, uint32_t flags) noexcept;
  void stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept;

  // Before a call that tells the host what is done.
  void host_may_learn() noexcept;
  // A call has returned. Flushes what was gathered. kStreamItself: kStream, unless the null stream
  // has later work for which the call did not wait.
  void synchronized(format::SynchronizeKind kind, Handle object,
                    std::string_view call = {}) noexcept;
  // The recorder itself waited for all devices in this thread's call, which frees memory, or not.
  static void waited_for_all(bool is) noexcept { waited_for_all_ = is; }

 private:
  static constinit inline thread_local bool waited_for_all_ = false;

  Stretch& stretch_;
  Graphs& graphs_;
  Events& events_;
  LateReads& late_reads_;
  HostWrites& host_writes_;
  Launches& launches_;
  DeviceWork& work_;
  Handover& handover_;
  Sections& sections_;
};

}  // namespace gfxgraph::recorder
