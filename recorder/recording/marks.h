// Ranges, marks and names: annotations by the program, through gfxgraph/record.h or a profiler's
// markers. Before the device is used they touch nothing. Any thread, without locks.
#pragma once

#include <vector>

#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/launch/launches.h"
#include "recorder/objects/allocations.h"
#include "recorder/recording/handover.h"
#include "recorder/recording/sections.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class Marks : private Part {
 public:
  Marks(const Core& core, Allocations& allocations, Stretch& stretch, Events& events,
        Launches& launches, Sections& sections, Handover& handover) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        events_(events),
        launches_(launches),
        sections_(sections),
        ranges_(sections.ranges()),
        handover_(handover) {}

  // 0: nothing is recorded.
  format::RangeId range_begins(const char* name) noexcept;
  void range_ends(format::RangeId range) noexcept;
  void mark(const char* text) noexcept;
  // Of the allocation that holds the pointer: gfxgraph_name().
  void name_memory(const void* pointer, const char* name) noexcept;
  void note(const char* call, const char* detail) noexcept;

  // ---- with the recorder's lock -----------------------------------------------------------------
  format::RangeId new_range() noexcept { return next_range_++; }
  // The trace has been opened.
  void append_early();
  void note_open_ranges();
  // A file begins in which the open ranges are open.
  void begin_open_ranges();

 private:
  void append(format::Marker marker);
  void place(format::Marker marker);

  Allocations& allocations_;
  Stretch& stretch_;
  Events& events_;
  Launches& launches_;
  Sections& sections_;
  OpenRanges& ranges_;
  Handover& handover_;
  format::RangeId next_range_ = 1;
  std::vector<format::Marker> early_;
};

}  // namespace gfxgraph::recorder
