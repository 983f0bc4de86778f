// The events of the trace and their order: their streams, what the program has waited for, which
// host functions it knows to have run. Every event of the recorder passes through it. The
// recorder's lock guards it, unless stated otherwise.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/stream_devices.h"
#include "recorder/core.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/events/stream_uses.h"
#include "recorder/events/work.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/graph_model.h"
#include "recorder/objects/stream_table.h"

namespace gfxgraph::recorder {

// Receives what the host knows to be done.
class Landing {
 public:
  virtual void land(const std::vector<Flight>& landing) = 0;
  // An event told the host that work, perhaps none that writes host-visible memory, is done.
  // `late`: at a time that the recorder cannot observe exactly.
  virtual void host_learns(bool late) = 0;

 protected:
  ~Landing() = default;
};

class Events : private Part {
 public:
  // push() calls `landing`. `number_streams`: as for StreamTable.
  Events(const Core& core, const Allocations& allocations, Flights& flights, HostRuns& runs,
         const Captures& captures, Landing& landing, bool number_streams)
      : Part(core),
        allocations_(allocations),
        flights_(flights),
        runs_(runs),
        captures_(captures),
        landing_(landing),
        streams_(number_streams) {}

  // After the host functions that ran.
  void append(format::Action action);
  // Here and now. The event is the queue's.
  format::Event& push(format::Action action);
  // The work's event; its host functions get their ids.
  format::Event& append_work(Work& work);
  // Before anything else is appended: later events were issued after these ran, or concurrently,
  // where additional order is harmless.
  void note_runs();
  void note_runs_if_any() {
    if (runs_.any_ran()) note_runs();
  }
  // Of what the trace says about memory that the host sees.
  void note_targets(const format::Action& action);

  // This thread's call begins: its work is not ordered after tickets that others draw from now on.
  void call_begins() noexcept {
    // Where this thread is the only one, as at its last call, nobody else has drawn since then. The
    // counter costs a launch 10 ns.
    const bool only = journal_.lanes().only_mine();
    if (!only || !was_only_) draw_before_call();
    was_only_ = only;
  }
  // The same, for a call that tells the host what is done: of what was issued by now.
  void call_may_tell() noexcept {
    draw_before_call();
    issued_before_call_ = flights_.issued();
  }
  void call_tells_nothing_yet() noexcept { issued_before_call_ = UINT32_MAX; }
  // The last ticket when the call began that this thread is in. Any thread.
  static uint64_t drawn_before() noexcept { return drawn_before_call_; }

  StreamTable& streams() noexcept { return streams_; }
  // Its number in the trace; assigns one if it had none.
  format::StreamId stream_id(Handle stream);
  // Before anything names the device. With several of them.
  void know_device(format::DeviceNumber device);
  format::DeviceNumber device_of(format::StreamId stream) const { return devices_.device(stream); }
  // The host knows all work of all known devices to be done.
  void append_devices_done(std::string_view call);
  format::EventId event_id(Handle event);
  void know_stream(Handle stream, const format::StreamCreate& create);
  void forget_stream(Handle stream);
  // With the lock of a lane, or the recorder's.
  StreamUses& uses() noexcept { return uses_; }
  void note_overlap();
  // A call was in progress when its recorded section ended.
  void note_left_range(const char* call);

  // A stream is done, except for later work of the null stream.
  format::SynchronizeKind of_itself(format::StreamId stream) const;
  // Whether all work of the program is done, as far as can be determined without waiting.
  bool streams_are_idle();

  // For the next trace.
  void number_anew();

 private:
  void draw_before_call() noexcept { drawn_before_call_ = journal_.queue().last_drawn(); }
  void stream_used(format::StreamId stream, uint64_t ticket);
  void stream_used(const format::Action& action, uint64_t ticket);
  void program_waited(const format::Action& action);
  bool known_idle(format::StreamId stream) const;

  static constinit inline thread_local uint64_t drawn_before_call_ = 0;
  // UINT32_MAX: a wait is for all work in flight.
  static constinit inline thread_local uint32_t issued_before_call_ = UINT32_MAX;
  static constinit inline thread_local bool was_only_ = false;

  const Allocations& allocations_;
  Flights& flights_;
  HostRuns& runs_;
  const Captures& captures_;
  Landing& landing_;
  StreamTable streams_;
  StreamUses uses_;
  format::StreamDevices devices_;
  std::vector<format::DeviceNumber> known_devices_ = {0};
  // The program has waited for a device's, or a stream's, work up to these tickets.
  std::vector<uint64_t> waited_for_ = {0};  // by device
  std::unordered_map<format::StreamId, uint64_t> waited_for_stream_;
  format::HostFunctionId next_host_function_ = 1;
};

}  // namespace gfxgraph::recorder
