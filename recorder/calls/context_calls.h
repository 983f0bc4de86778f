// Execution contexts (HIP 7.14: green contexts), of which a trace has the order that their calls
// make between streams; which compute units their streams use changes no result. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/calls/stream_calls.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/objects/graphs.h"
#include "recorder/recording/handover.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class ContextCalls : private Part {
 public:
  ContextCalls(const Core& core, Stretch& stretch, Graphs& graphs, Events& events,
               Handover& handover, StreamCalls& streams) noexcept
      : Part(core),
        stretch_(stretch),
        graphs_(graphs),
        events_(events),
        handover_(handover),
        streams_(streams) {}

  // After hipGreenCtxCreate, or hipDeviceGetExecutionCtx: `primary`, the device's own one.
  void made(Handle context, format::DeviceNumber device, bool primary) noexcept;
  // Before hipExecutionCtxDestroy, as its handle may come again once that has returned. Then
  // put_back() if the call failed.
  struct Leaving {
    std::vector<Handle> streams;
    format::DeviceNumber device = 0;
    bool known = false;
  };
  Leaving leaves(Handle context) noexcept;
  void put_back(Handle context, Leaving&& leaving) noexcept;

  // The device of a context's streams; 0 if the context is not known.
  format::DeviceNumber device_of(Handle context) noexcept;
  void stream_made(Handle context, Handle stream) noexcept;
  void stream_leaves(Handle stream) noexcept;  // before hipStreamDestroy

  // After the call. Only the streams that the context has count, as in HIP.
  void event_recorded(Handle context, Handle event, std::string_view call) noexcept;
  void waits(Handle context, Handle event, std::string_view call) noexcept;
  void synchronized(Handle context, std::string_view call) noexcept;

 private:
  struct Context {
    format::DeviceNumber device = 0;
    bool primary = false;
    std::vector<Handle> streams = {};
    // A stream of the trace alone, which joins the others for an event of all; of that numbering.
    format::StreamId join = 0;
    uint64_t numbering = 0;
  };
  // nullptr, with a finding: not known, the device's own one, or a stream of it is captured.
  Context* find(Handle context, std::string_view call);
  std::vector<Handle> streams_of(Handle context, std::string_view call) noexcept;

  Stretch& stretch_;
  Graphs& graphs_;
  Events& events_;
  Handover& handover_;
  StreamCalls& streams_;
  std::unordered_map<Handle, Context> contexts_;
};

}  // namespace gfxgraph::recorder
