// Where a recorded section of the program begins and ends. Outside of sections the model of
// streams, memory, modules and graphs is kept, and nothing is read or written. With the recorder's
// lock, unless stated otherwise.
#pragma once

#include <map>
#include <set>

#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_effects.h"
#include "recorder/launch/launches.h"
#include "recorder/memory/code.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/recording/handover.h"
#include "recorder/selection/stretch.h"
#include "recorder/work/deferrals.h"
#include "recorder/work/stream_values.h"

namespace gfxgraph::recorder {

// Ranges of the program that are open, as they began; and those whose beginning is in the trace.
struct OpenRanges {
  std::map<format::RangeId, format::Marker> open;
  std::set<format::RangeId> traced;
};

class Sections : private Part {
 public:
  // `segments`: each section has a trace of its own.
  Sections(const Core& core, Allocations& allocations, Stretch& stretch, Flights& flights,
           HostEffects& effects, Events& events, Contents& contents, TracedMemory& traced,
           HostWrites& host_writes, Deferrals& deferrals, Code& code, Launches& launches,
           StreamValues& values, Handover& handover, bool segments) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        flights_(flights),
        effects_(effects),
        events_(events),
        contents_(contents),
        traced_(traced),
        host_writes_(host_writes),
        deferrals_(deferrals),
        code_(code),
        launches_(launches),
        values_(values),
        handover_(handover),
        segments_(segments) {}

  OpenRanges& ranges() noexcept { return ranges_; }

  void enter();
  // With the order's lock, too: end() and then forget().
  void leave();
  // What was in the section gets its end.
  void end();
  // Nothing of it has an id any more.
  void forget();
  // Without locks: if the section is over.
  void leave_now() noexcept;
  // The final contents of all buffers; the device is idle.
  void end_contents(const char* call);
  // Selections that nothing matched.
  void note_missed();

 private:
  void end_or_keep(Allocation& allocation, format::Content post);

  Allocations& allocations_;
  Stretch& stretch_;
  Flights& flights_;
  HostEffects& effects_;
  Events& events_;
  Contents& contents_;
  TracedMemory& traced_;
  HostWrites& host_writes_;
  Deferrals& deferrals_;
  Code& code_;
  Launches& launches_;
  StreamValues& values_;
  Handover& handover_;
  const bool segments_;
  OpenRanges ranges_;
};

}  // namespace gfxgraph::recorder
