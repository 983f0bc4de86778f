// Recording by launches: gfxgraph-record --launches, --kernel and --flight-recorder. Every launch
// that the program makes is counted when its call has returned; a recorded section begins in front
// of the first one that is selected, before anything that it touches is read.
#pragma once

#include <cstdint>

#include "recorder/calls/stream_calls.h"
#include "recorder/core.h"
#include "recorder/launch/launches.h"
#include "recorder/memory/code.h"
#include "recorder/objects/executable_graphs.h"
#include "recorder/objects/graphs.h"
#include "recorder/recording/flight_recorder.h"
#include "recorder/recording/sections.h"
#include "recorder/selection/launch_selection.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class LaunchTurns : private Part {
 public:
  LaunchTurns(const Core& core, Stretch& stretch, const Graphs& graphs,
              ExecutableGraphs& executables, Code& code, const Launches& launches,
              StreamCalls& streams, Sections& sections, FlightRecorder& flight) noexcept
      : Part(core),
        stretch_(stretch),
        graphs_(graphs),
        executables_(executables),
        code_(code),
        launches_(launches),
        streams_(streams),
        sections_(sections),
        flight_(flight) {}

  // First in a call that launches, instead of what StreamCalls::call_begins() does for others: the
  // launch may begin a recorded section, or go on with one that is about to be left.
  LaunchTurn begins(const LaunchCall& launch) noexcept;
  // Last in it.
  void ended(const LaunchCall& launch, const LaunchTurn& turn, bool success) noexcept;

 private:
  bool executes(const LaunchCall& launch) const;
  uint64_t matching(Handle function, bool host_function) noexcept;
  uint64_t matching(KernelEntry& kernel);
  template <typename Count>
  uint64_t count_kernels(const LaunchCall& launch, uint64_t mask, Count&& count);
  void count_for_segment(const LaunchCall& launch) noexcept;

  Stretch& stretch_;
  const Graphs& graphs_;
  ExecutableGraphs& executables_;
  Code& code_;
  const Launches& launches_;
  StreamCalls& streams_;
  Sections& sections_;
  FlightRecorder& flight_;
};

}  // namespace gfxgraph::recorder
