// Turns the recorded program's HIP calls into a trace. Knows nothing of HIP's types: hooks_*.cpp
// translate. Thread-safe. No method throws or changes what the program sees; the first internal
// error is latched, recording stops, and the trace keeps its valid prefix.
//
// What it knows stands in its parts (docs/architecture.md). Hooks call those that follow one kind
// of thing: graphs, code, launches, device work, host functions. What concerns several of them is
// here: memory that ends, ranges, segments, the beginning and the end.
//
// A piece of device work is recorded in two steps around the real call: prepare() sees memory as
// the call will see it, commit() appends the event once the call succeeded. Events are in the order
// in which calls returned.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "format/writer.h"
#include "recorder/contents/contents.h"
#include "recorder/contents/deferrals.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_runs.h"
#include "recorder/contents/host_writes.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/device.h"
#include "recorder/model/allocations.h"
#include "recorder/model/array_places.h"
#include "recorder/model/code.h"
#include "recorder/model/device_work.h"
#include "recorder/model/events.h"
#include "recorder/model/graphs.h"
#include "recorder/model/launch_selection.h"
#include "recorder/model/launches.h"
#include "recorder/model/mapped_memory.h"
#include "recorder/model/segments.h"
#include "recorder/model/stretch.h"
#include "recorder/tool/claim.h"
#include "recorder/tool/options.h"
#include "recorder/work.h"

namespace gfxgraph::recorder {

// The handle that stands for this thread's stream in calls of the per-thread-default-stream API.
Handle per_thread_stream() noexcept;

class Recorder final : private Guard::Owner {
 public:
  Recorder(Options options, std::unique_ptr<Device> device);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool active() const noexcept { return guard_.active(); }
  // Whether this process has used HIP, so that there is something to end.
  bool began() const noexcept { return asked_.load(std::memory_order_acquire); }

  Code& code() noexcept { return code_; }
  Graphs& graphs() noexcept { return graphs_; }
  Launches& launches() noexcept { return launches_; }
  HostRuns& host_runs() noexcept { return runs_; }

  // ---- memory (recorder_memory.cpp) -------------------------------------------------------------
  struct NewAllocation {
    format::AllocationKind kind = format::AllocationKind::kDevice;
    uint64_t address = 0;
    uint64_t host_address = 0;
    uint64_t size_bytes = 0;
    uint32_t flags = 0;
    Handle stream = nullptr;
    bool holds_bytes = false;  // what was written into it at another address
  };
  void allocated(const NewAllocation& allocation) noexcept;
  void host_registered(void* host, uint64_t size_bytes, uint32_t flags) noexcept;
  // After the real call, of which it says what the host knows.
  void host_unregistered(uint64_t address) noexcept;
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
  // Memory that the program maps itself (recorder_mapped.cpp). After the real calls, which
  // succeeded.
  void memory_created(MappedMemory::Memory memory) noexcept;
  void memory_mapped(uint64_t address, uint64_t size_bytes, MappedMemory::Memory memory) noexcept;
  void memory_accessible(uint64_t address, uint64_t size_bytes, const char* call) noexcept;
  // Before the real call and after it, as freeing() and freed().
  std::vector<Freeing> unmapping(uint64_t address, uint64_t size_bytes) noexcept;
  void unmapped(uint64_t address, uint64_t size_bytes, std::vector<Freeing>&& buffers,
                bool success) noexcept;
  // Arrays, textures and surfaces (recorder_arrays.cpp). After the real calls, which succeeded.
  void array_created(Handle array, const format::ArrayShape& shape, std::string_view call) noexcept;
  struct ArrayPlace {
    uint64_t address = 0;  // of its first byte, for RawCopyEnd
    std::shared_ptr<const format::ArrayShape> shape;
  };
  bool find_array(Handle array, ArrayPlace& place) noexcept;
  // Before its end: the runtime may give the handle to another one. Returns its address for
  // freeing(), 0 if it is not known; array_stays() if the real call fails.
  uint64_t array_leaves(Handle array) noexcept;
  void array_stays(Handle array, uint64_t address) noexcept;
  // Before an array is freed: whether the caller waits for the null stream, as HIP's call does. If
  // not, that call waits for the device, and so does freeing().
  bool array_waits_for_null_stream() noexcept;
  struct NewImage {
    format::AllocationKind kind = format::AllocationKind::kTexture;  // or kSurface
    uint64_t handle = 0;
    format::ImageObject object;  // without allocation and offset
    Handle array = nullptr;
    uint64_t address = 0;  // or that of the memory
  };
  void image_created(const NewImage& image, std::string_view call) noexcept;
  // Of the allocation that holds the pointer (recorder_names.cpp).
  void name_memory(const void* pointer, const char* name) noexcept;

  // ---- device work ------------------------------------------------------------------------------
  void prepare(Work& work) noexcept { work_.prepare(work); }
  void prepare_graph_launch(Handle executable, Handle stream, Work& work) noexcept {
    work_.prepare_graph_launch(executable, stream, work);
  }
  void commit(Work&& work) noexcept;
  // A launch whose way is not kWhole has succeeded. See Launches.
  void launched(LaunchWay way, KernelEntry& kernel, const LaunchShape& shape, void* const* params,
                void* const* extra, Handle stream, const char* call) noexcept {
    if (launches_.launched(way, kernel, shape, params, extra, stream, call)) [[unlikely]]
      drain();
  }
  // The call succeeded.
  void count(const HeldFindings& held) noexcept;

  // ---- streams, events, what the host knows (recorder_streams.cpp) ------------------------------
  void stream_created(Handle stream, uint32_t flags, int priority) noexcept;
  // Its handle may be given to another stream from now on, its work may go on: 0 if there was none
  // that the trace knows. And when its end has returned, after it `waited` for that work or not.
  format::StreamId stream_leaves(Handle stream) noexcept;
  void stream_destroyed(format::StreamId id, bool waited) noexcept;
  void event_created(Handle event, uint32_t flags) noexcept;
  void event_destroyed(Handle event) noexcept;
  void event_recorded(Handle event, Handle stream) noexcept;
  void stream_waits(Handle stream, Handle event, uint32_t flags) noexcept;
  void stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept;
  // First in each call of the program, on its thread. Takes no lock, unless a recorded stretch is
  // over: `joins` false leaves it first.
  void call_begins(bool joins = false) noexcept;
  // Each outermost call goes through it, if there is one: a flight recorder's.
  CallGate* gate() noexcept { return segments_ ? &segments_->gate : nullptr; }
  // A call has returned. Flushes what was gathered. kStreamItself: kStream, unless the null stream
  // has later work for which the call did not wait.
  void synchronized(format::SynchronizeKind kind, Handle object,
                    std::string_view call = {}) noexcept;
  // Before a call that tells the host what is done.
  void host_may_learn() noexcept;

  // ---- ranges and marks (recorder_marks.cpp) ----------------------------------------------------
  // Before the device is used they touch nothing. 0: nothing is recorded.
  format::RangeId range_begins(const char* name) noexcept;
  void range_ends(format::RangeId range) noexcept;
  void mark(const char* text) noexcept;
  void note_marker(const char* call, const char* detail) noexcept;

  // ---- launches that are selected (recorder_selection.cpp) --------------------------------------
  // First in a call that launches, instead of what call_begins() does for others: the launch may
  // begin a recorded stretch, or go on with one that is about to be left.
  LaunchTurn launch_begins(const LaunchCall& launch) noexcept;
  // Last in it.
  void launch_ended(const LaunchCall& launch, const LaunchTurn& turn, bool success) noexcept;

  // ---- findings, end ----------------------------------------------------------------------------
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
  void finding_now(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding_now(kind, call, detail);
  }
  void update_ways() noexcept;

  // The trace: its beginning, what is handed to the writer and when, its end (recorder.cpp).
  void open();
  Result<std::unique_ptr<format::Writer>> new_writer() const;
  void drain(bool all = false) noexcept;
  template <typename LockModel>
  bool drain_in_order(bool all, LockModel&& lock_model);
  void drain_at_wait() noexcept;
  void drain_if_full() noexcept;
  bool flush_round() noexcept;
  void flusher_ends() noexcept;
  void end_by_signal() noexcept;
  void finish_contents();
  void end_contents(const char* call);
  void end_trace(Ends ends = Ends::kForGood);
  void seal_trace();
  void note_bypasses() noexcept;
  void note(const std::vector<Device::Bypass>& bypasses);
  void note_unrecorded_processes();
  void write_report_file() noexcept;

  // Memory.
  bool wait_for_device(uint64_t address, uint32_t& issued) noexcept;
  bool free_of_array_waits_for_device() const noexcept;
  // The recorder waited for all devices in this thread's call, which frees memory.
  static constinit inline thread_local bool waited_for_all = false;
  void begin_mapped(std::span<const MappedMemory::Buffer> buffers, const char* call) noexcept;
  void note_if_graphs(const char* call) noexcept;
  void lose_array_of(const Allocation& texture);

  // What of the program is recorded (recorder_ranges.cpp).
  void enter_range();
  void leave_range();
  void leave_now() noexcept;
  void end_or_keep(Allocation& allocation, format::Content post);
  void note_missed_ranges();

  // Marks.
  void append_marker(format::Marker marker);
  void append_early_markers();
  void place_marker(format::Marker marker);
  void note_open_ranges();

  // Selected launches.
  bool executes(const LaunchCall& launch) const;
  uint64_t matching(Handle function, bool host_function) noexcept;
  uint64_t matching(KernelEntry& kernel);
  template <typename Count>
  uint64_t count_kernels(const LaunchCall& launch, uint64_t mask, Count&& count);
  void count_for_segment(const LaunchCall& launch) noexcept;

  // Segments of a flight recorder (recorder_segments.cpp).
  bool next_segment(uint32_t own) noexcept;
  void end_segment();
  void begin_segment();
  void forget_trace();
  void keep_segment() noexcept;

  const Options options_;
  const std::unique_ptr<Device> device_;
  DeviceFacts facts_;
  Guard guard_{*this};
  std::mutex drain_mutex_;  // before the guard's
  Journal journal_{options_.redact};
  const Core core_{guard_, journal_, *device_, facts_, options_};

  Claim claim_;
  const std::unique_ptr<Segments> segments_;  // of a flight recorder
  static constinit inline std::atomic<bool> elsewhere_{false};
  // The process whose recording ended with it, and the thread that exits.
  static constinit inline std::atomic<pid_t> ended_process_{0};
  static constinit inline std::atomic<pid_t> ended_thread_{0};
  std::atomic<bool> denied_{false};
  // Of the first use of HIP: who records, and what the device is. Before all other locks.
  std::mutex asking_mutex_;
  std::atomic<bool> asked_{false};
  bool begun_ = false;
  bool finished_ = false;
  uint32_t finish_timeout_ms_ = 30'000;  // how long the end waits for the device
  Report report_;

  MappedMemory mapped_;
  ArrayPlaces arrays_;

  // The parts, each behind those that it knows, but for the references that point ahead: contents
  // lead to more contents, by the code that variables belong to and by what the host wrote.
  ByteStore store_;
  Flights flights_;
  Allocations allocations_{journal_.lanes()};
  Stretch stretch_{options_, segments_ != nullptr};
  Graphs graphs_{core_, allocations_.words()};
  HostRuns runs_{core_, store_, allocations_, flights_};
  Events events_{
      core_,        allocations_,        flights_, runs_, std::as_const(graphs_).captures(),
      host_writes_, segments_ != nullptr};
  Contents contents_{core_, store_, allocations_, stretch_, runs_, events_, host_writes_, code_};
  HostWrites host_writes_{core_, store_, allocations_, flights_, runs_, events_, contents_};
  Deferrals deferrals_{core_, allocations_, flights_, runs_, contents_};
  Code code_{core_, allocations_, stretch_,     flights_,
             runs_, contents_,    host_writes_, segments_ != nullptr};
  Launches launches_{core_,     allocations_, stretch_,
                     flights_,  runs_,        events_,
                     contents_, code_,        std::as_const(graphs_).captures()};
  DeviceWork work_{core_,     allocations_, stretch_,   flights_, runs_,    events_,
                   contents_, host_writes_, deferrals_, graphs_,  launches_};

  // Ranges of the program that are open, as they began; and those whose beginning is in the trace.
  format::RangeId next_range_ = 1;
  std::map<format::RangeId, format::Marker> open_ranges_;
  std::set<format::RangeId> traced_;
  std::vector<format::Marker> early_markers_;
};

}  // namespace gfxgraph::recorder
