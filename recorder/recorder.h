// Turns the recorded program's HIP calls into a trace. Knows nothing of HIP's types: hooks_*.cpp
// translate. Thread-safe. No method throws or changes what the program sees; the first internal
// error is latched, recording stops, and the trace keeps its valid prefix.
//
// It owns the parts (docs/architecture.md), of which hooks call those that follow one kind of call.
// Here stand only the beginning of the recording, its end, and the thread that writes.
//
// A piece of device work is recorded in two steps around the real call: prepare() sees memory as
// the call will see it, commit() appends the event once the call succeeded. Events are in the order
// in which calls returned.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/calls/array_calls.h"
#include "recorder/calls/buffer_calls.h"
#include "recorder/calls/call_faults.h"
#include "recorder/calls/context_calls.h"
#include "recorder/calls/launch_turns.h"
#include "recorder/calls/mapping_calls.h"
#include "recorder/calls/stream_calls.h"
#include "recorder/contract/options.h"
#include "recorder/core.h"
#include "recorder/device.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/events/work.h"
#include "recorder/launch/launches.h"
#include "recorder/lock_order.h"
#include "recorder/memory/code.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/late_reads.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/executable_graphs.h"
#include "recorder/objects/graphs.h"
#include "recorder/recording/flight_recorder.h"
#include "recorder/recording/handover.h"
#include "recorder/recording/live_captures.h"
#include "recorder/recording/marks.h"
#include "recorder/recording/next_trace.h"
#include "recorder/recording/sections.h"
#include "recorder/recording/trace_file.h"
#include "recorder/selection/segments.h"
#include "recorder/selection/stretch.h"
#include "recorder/sites/python_exit.h"
#include "recorder/work/deferrals.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {

// At the end of a recorded call, when this thread holds no lock of the recorder.
inline void call_ends() noexcept { PythonExit::ask_if_wanted(); }

class Recorder final : private Guard::Owner {
 public:
  Recorder(Options options, std::unique_ptr<Device> device);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool active() const noexcept { return guard_.active(); }
  // Whether this process has used HIP, so that there is something to end.
  bool began() const noexcept { return asked_.load(std::memory_order_acquire); }

  // ---- what the program's calls are about
  // --------------------------------------------------------
  StreamCalls& streams() noexcept { return stream_calls_; }
  ContextCalls& contexts() noexcept { return context_calls_; }
  BufferCalls& buffers() noexcept { return buffer_calls_; }
  MappingCalls& mappings() noexcept { return mapping_calls_; }
  CallFaults& faults() noexcept { return call_faults_; }
  ArrayCalls& arrays() noexcept { return array_calls_; }
  Code& code() noexcept { return code_; }
  Graphs& graphs() noexcept { return graphs_; }
  ExecutableGraphs& executables() noexcept { return executables_; }
  Launches& launches() noexcept { return launches_; }
  LaunchTurns& turns() noexcept { return turns_; }
  HostRuns& host_runs() noexcept { return runs_; }
  HostWrites& host_writes() noexcept { return host_writes_; }
  Marks& marks() noexcept { return marks_; }
  Handover& handover() noexcept { return handover_; }
  LiveCaptures& live() noexcept { return live_; }
  // Each outermost call goes through it, if there is one: a flight recorder's.
  CallGate* gate() noexcept { return flight_.gate(); }

  // ---- device work ------------------------------------------------------------------------------
  // Before the call: prepare(). After it: commit() here, which also hands over what has gathered;
  // it takes the actions out of the work, and leaves there whether the event told of the wait.
  DeviceWork& work() noexcept { return work_; }
  void commit(Work& work) noexcept;

  // ---- findings, end ----------------------------------------------------------------------------
  // The call succeeded.
  void count(const HeldFindings& held) noexcept;
  void note_incomplete(std::string_view call, std::string_view detail = {}) noexcept;
  void note(std::string_view call, std::string_view detail) noexcept;
  // The program is about to end (exit, _exit, exec): post-states, summary, rename. Idempotent.
  // Where threads go on while the process exits, what they do belongs to no recording; after an
  // exec that failed in spite of its trial, it is missing.
  enum class Ends : uint8_t { kForGood, kWithExec };
  void finish(Ends ends = Ends::kForGood) noexcept;
  // Hands what was gathered to the kernel; safe to call from abort().
  void flush() noexcept;
  // In a forked child: forgets everything without touching the file. False: the recording has not
  // begun, and this process may still be the one that is recorded.
  bool abandon() noexcept;
  // In a process that does not record although another one of this recording does: `call` gave work
  // to the device. Leaves a mark for gfxgraph-record, once.
  void unrecorded_work(std::string_view call) noexcept;
  // Whether this is such a process. Any thread; no lock.
  static bool elsewhere() noexcept { return elsewhere_.load(std::memory_order_relaxed); }
  // The runtime as first seen by this process is up: opens the trace if that has not happened.
  void begin() noexcept;

  Report report();

 private:
  // Guard::Owner
  void ready() override;
  void enter() override;
  void leave() override;
  void failed(const Error& error) noexcept override;

  template <typename F>
  void guarded(F&& function) noexcept {
    guard_.locked(std::forward<F>(function));
  }
  template <typename F>
  void guarded_unlocked(F&& function) noexcept {
    guard_.unlocked(std::forward<F>(function));
  }
  void finding(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding(kind, call, detail);
  }

  void open();
  bool flush_round() noexcept;
  void flusher_ends() noexcept;
  void end_by_signal() noexcept;
  void finish_contents();
  void end_trace(Ends ends = Ends::kForGood);
  void note_bypasses() noexcept;
  void note(const std::vector<Device::Bypass>& bypasses);
  void write_report_file() noexcept;

  Options options_;
  const std::unique_ptr<Device> device_;
  DeviceFacts facts_;
  Life life_;
  Guard guard_{*this};
  Journal journal_{options_.redact};
  const Core core_{guard_, journal_, *device_, facts_, options_, life_};

  const std::unique_ptr<Segments> segments_;  // of a flight recorder
  const bool several_traces_ = segments_ != nullptr || options_.in_process;
  static constinit inline std::atomic<bool> elsewhere_{false};
  // The process whose recording ended with it, and the thread that exits.
  static constinit inline std::atomic<pid_t> ended_process_{0};
  static constinit inline std::atomic<pid_t> ended_thread_{0};
  // Of the first use of HIP: who records, and what the device is.
  Mutex<LockRank::kAsking> asking_mutex_;
  std::atomic<bool> asked_{false};
  Report report_;

  // The parts, each behind those that it knows, but for the references that point ahead: contents
  // lead to more contents, by the code that variables belong to and by what the host wrote.
  ByteStore store_;
  Flights flights_;
  Allocations allocations_{journal_.lanes()};
  Stretch stretch_{options_, segments_ != nullptr};
  Graphs graphs_{core_, allocations_.words()};
  ExecutableGraphs executables_{core_, graphs_};
  HostRuns runs_{core_, store_, allocations_, flights_};
  Events events_{core_,        allocations_,   flights_, runs_, std::as_const(graphs_).captures(),
                 host_writes_, several_traces_};
  Contents contents_{core_, store_, allocations_, runs_, events_, traced_};
  LateReads late_reads_{core_, store_, allocations_, flights_, events_, contents_, traced_};
  TracedMemory traced_{core_,     allocations_, stretch_,     runs_, events_,
                       contents_, late_reads_,  host_writes_, code_};
  HostWrites host_writes_{core_,   store_,    allocations_, flights_,   runs_,
                          events_, contents_, traced_,      late_reads_};
  Deferrals deferrals_{core_,     allocations_, flights_,   runs_.deferred(),
                       contents_, traced_,      late_reads_};
  Code code_{core_,           allocations_, stretch_,     flights_,
             runs_.effects(), traced_,      host_writes_, several_traces_};
  Launches launches_{core_,    allocations_, stretch_,
                     flights_, runs_,        events_,
                     traced_,  code_,        std::as_const(graphs_).captures()};
  DeviceWork work_{core_,   allocations_, stretch_,   flights_, runs_,        events_,  contents_,
                   traced_, host_writes_, deferrals_, graphs_,  executables_, launches_};
  Handover handover_{core_, deferrals_};
  TraceFile file_{core_, contents_, handover_};
  Sections sections_{core_,   allocations_, stretch_,       flights_,     runs_.effects(),
                     events_, contents_,    traced_,        host_writes_, deferrals_,
                     code_,   launches_,    work_.values(), handover_,    several_traces_};
  StreamCalls stream_calls_{core_,        stretch_,  graphs_, events_,   late_reads_,
                            host_writes_, launches_, work_,   handover_, sections_};
  ContextCalls context_calls_{core_, stretch_, graphs_, events_, handover_, stream_calls_};
  ArrayCalls array_calls_{core_, allocations_, traced_, host_writes_, handover_};
  BufferCalls buffer_calls_{core_,          allocations_,    stretch_,      flights_,
                            graphs_,        runs_.effects(), events_,       contents_,
                            traced_,        late_reads_,     host_writes_,  code_,
                            work_.values(), handover_,       stream_calls_, array_calls_};
  MappingCalls mapping_calls_{core_, graphs_, executables_, buffer_calls_};
  CallFaults call_faults_{core_, allocations_, stretch_, events_};
  Marks marks_{core_, allocations_, stretch_, events_, launches_, sections_, handover_};
  NextTrace next_{core_, allocations_, flights_, runs_, events_, contents_, code_, work_};
  FlightRecorder flight_{core_,     segments_.get(), graphs_, runs_,     events_, host_writes_,
                         launches_, handover_,       file_,   sections_, marks_,  next_};
  LiveCaptures live_{core_,     options_, allocations_, events_, code_, launches_,
                     handover_, file_,    sections_,    marks_,  next_};
  LaunchTurns turns_{core_,     stretch_,      graphs_,   executables_, code_,
                     launches_, stream_calls_, sections_, flight_};
};

}  // namespace gfxgraph::recorder
