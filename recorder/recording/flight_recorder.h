// gfxgraph-record --flight-recorder: between two segments it seals one file like the end of a
// recorded section and begins another one with its own numbers, code objects and memory. No call of
// the program runs meanwhile.
#pragma once

#include "recorder/core.h"
#include "recorder/recording/marks.h"
#include "recorder/recording/next_trace.h"
#include "recorder/recording/sections.h"
#include "recorder/recording/trace_file.h"
#include "recorder/selection/segments.h"

namespace gfxgraph::recorder {

class FlightRecorder : private Part {
 public:
  // `segments`: nullptr without the option.
  FlightRecorder(const Core& core, Segments* segments, Graphs& graphs, HostRuns& runs,
                 Events& events, HostWrites& host_writes, Launches& launches, Handover& handover,
                 TraceFile& file, Sections& sections, Marks& marks, NextTrace& next) noexcept
      : Part(core),
        segments_(segments),
        graphs_(graphs),
        runs_(runs),
        events_(events),
        host_writes_(host_writes),
        launches_(launches),
        handover_(handover),
        file_(file),
        sections_(sections),
        marks_(marks),
        next_(next) {}

  bool on() const noexcept { return segments_ != nullptr; }
  // Each outermost call of the program goes through it, if there is one.
  CallGate* gate() noexcept { return on() ? &segments_->gate : nullptr; }
  // The first file is open. With the recorder's lock.
  void opened(const format::Environment& environment);
  // Before a launch, which may begin the next segment: whether it does.
  bool launch_begins() noexcept { return segments_->over() && next(1); }
  void count(uint64_t launches) noexcept { segments_->count(launches); }
  // On the flusher's thread: SIGUSR2, while the program launches nothing.
  void keep() noexcept;

 private:
  bool next(uint32_t own) noexcept;
  void end_segment();
  void begin_segment();

  Segments* const segments_;
  Graphs& graphs_;
  HostRuns& runs_;
  Events& events_;
  HostWrites& host_writes_;
  Launches& launches_;
  Handover& handover_;
  TraceFile& file_;
  Sections& sections_;
  Marks& marks_;
  NextTrace& next_;
};

}  // namespace gfxgraph::recorder
