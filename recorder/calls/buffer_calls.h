// Memory that the program gets and gives back, as its calls say it. Any thread, without locks.
#pragma once

#include <cstdint>

#include "recorder/calls/array_calls.h"
#include "recorder/calls/stream_calls.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_effects.h"
#include "recorder/memory/code.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/late_reads.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/graphs.h"
#include "recorder/recording/handover.h"
#include "recorder/selection/stretch.h"
#include "recorder/work/stream_values.h"

namespace gfxgraph::recorder {

struct NewAllocation {
  format::AllocationKind kind = format::AllocationKind::kDevice;
  uint64_t address = 0;
  uint64_t host_address = 0;
  uint64_t size_bytes = 0;
  uint32_t flags = 0;
  Handle stream = nullptr;
  bool holds_bytes = false;  // what was written into it at another address
};

class BufferCalls : private Part {
 public:
  BufferCalls(const Core& core, Allocations& allocations, Stretch& stretch, Flights& flights,
              Graphs& graphs, HostEffects& effects, Events& events, Contents& contents,
              TracedMemory& traced, LateReads& late_reads, HostWrites& host_writes, Code& code,
              StreamValues& values, Handover& handover, StreamCalls& streams,
              ArrayCalls& arrays) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        flights_(flights),
        graphs_(graphs),
        effects_(effects),
        events_(events),
        contents_(contents),
        traced_(traced),
        late_reads_(late_reads),
        host_writes_(host_writes),
        code_(code),
        values_(values),
        handover_(handover),
        streams_(streams),
        arrays_(arrays) {}

  void allocated(const NewAllocation& allocation) noexcept;
  void host_registered(void* host, uint64_t size_bytes, uint32_t flags) noexcept;
  // Before the real call, which may take the memory from the runtime before it returns: no look of
  // another thread reads it through the runtime from then on. Waits for those that do.
  void host_unregistering(uint64_t address) noexcept;
  // After it. If it succeeded: with what the host knows by it.
  void host_unregistered(uint64_t address, bool success) noexcept;
  // Before the real call; the token goes to freed() after it. Waits for the device, as the real
  // call does, unless it is ordered by a stream: other threads go on.
  Freeing freeing(uint64_t address, Handle stream = nullptr, bool stream_ordered = false) noexcept;
  // `success` false: the real call refused, the allocation lives on.
  void freed(Freeing&& freeing, bool success) noexcept;
  // hipDeviceReset: everything ends. Before the real call and after it.
  void resetting() noexcept;
  void was_reset() noexcept;
  // Memory of a graph's node, which has this address whenever the graph is launched.
  void graph_memory(uint64_t address, uint64_t size_bytes,
                    format::DeviceNumber device = 0) noexcept;
  bool is_graph_memory(const void* pointer) noexcept;

 private:
  bool wait_for_device(uint64_t address, uint32_t& issued) noexcept;
  void note_two_addresses(const Allocation& allocation, const char* call);

  Allocations& allocations_;
  Stretch& stretch_;
  Flights& flights_;
  Graphs& graphs_;
  HostEffects& effects_;
  Events& events_;
  Contents& contents_;
  TracedMemory& traced_;
  LateReads& late_reads_;
  HostWrites& host_writes_;
  Code& code_;
  StreamValues& values_;
  Handover& handover_;
  StreamCalls& streams_;
  ArrayCalls& arrays_;
};

}  // namespace gfxgraph::recorder
