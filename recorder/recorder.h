// Turns the recorded program's HIP calls into a trace. Knows nothing of HIP's types: hooks_*.cpp
// translate. Thread-safe. No method throws or changes what the program sees; the first internal
// error is latched, recording stops, and the trace keeps its valid prefix.
//
// A piece of device work is recorded in two steps around the real call: prepare() sees memory as
// the call will see it, commit() appends the event once the call succeeded. Events are in the order
// in which calls returned.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/trace.h"
#include "format/writer.h"
#include "recorder/contents/deferred.h"
#include "recorder/contents/flights.h"
#include "recorder/contents/host_effects.h"
#include "recorder/contents/kept_bytes.h"
#include "recorder/core.h"
#include "recorder/device.h"
#include "recorder/model/allocation_map.h"
#include "recorder/model/arguments.h"
#include "recorder/model/call_sites.h"
#include "recorder/model/code_registry.h"
#include "recorder/model/findings.h"
#include "recorder/model/fresh_memory.h"
#include "recorder/model/graphs.h"
#include "recorder/model/knows.h"
#include "recorder/model/launch_selection.h"
#include "recorder/model/range_selection.h"
#include "recorder/model/raw_actions.h"
#include "recorder/model/segments.h"
#include "recorder/model/stream_table.h"
#include "recorder/model/stream_uses.h"
#include "recorder/model/stream_values.h"
#include "recorder/model/word_resolver.h"
#include "recorder/queue/journal.h"
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

  // ---- code (recorder_code.cpp); allowed before the first device call ---------------------------
  void fat_binary(Handle handle, const void* wrapper) noexcept;
  void fat_binary_unloading(Handle handle) noexcept;  // before the real call
  void function(Handle fat_binary, Handle host_function, const char* name) noexcept;
  void variable(Handle fat_binary, Handle host_symbol, const char* name) noexcept;
  // `pointer` is where the runtime keeps the variable's address.
  void managed_variable(Handle fat_binary, void* const* pointer, const char* name,
                        uint64_t size_bytes) noexcept;
  void module_loaded(void* module, const void* image) noexcept;
  void module_file_loaded(void* module, const char* path) noexcept;
  void module_unloading(Handle module) noexcept;  // before the real call: globals' post-state
  // Libraries of HIP 7: `image` or `path` is null. The runtime reads a library's code later, at the
  // first call that needs it. Call unread_library() before such a call and pass its result to
  // library_read() afterwards. nullopt: the code was read already. Empty: it cannot be read.
  void library_loaded(Handle library, const void* image, const char* path) noexcept;
  std::optional<std::vector<std::byte>> unread_library(Handle library) noexcept;
  void library_read(Handle library, std::vector<std::byte> code) noexcept;
  void function_found(Handle function, Handle module, const char* name) noexcept;
  void function_of_symbol(Handle function, Handle host_function) noexcept;
  // The program learned a variable's address: it is an allocation from now on.
  void global_found(Handle module, const char* name, uint64_t address,
                    uint64_t size_bytes) noexcept;
  // 0: not a variable of this program.
  uint64_t symbol_address(Handle host_symbol) noexcept;

  // ---- memory (recorder_memory.cpp) -------------------------------------------------------------
  struct NewAllocation {
    format::AllocationKind kind = format::AllocationKind::kDevice;
    uint64_t address = 0;
    uint64_t host_address = 0;
    uint64_t size_bytes = 0;
    uint32_t flags = 0;
    Handle stream = nullptr;
  };
  void allocated(const NewAllocation& allocation) noexcept;
  void host_registered(void* host, uint64_t size_bytes, uint32_t flags) noexcept;
  // After the real call, of which it says what the host knows.
  void host_unregistered(uint64_t address) noexcept;
  // Before the real call; the token goes to freed() after it. Waits for the device, as the real
  // call does, unless it is ordered by a stream: other threads go on.
  struct Freeing {
    std::shared_ptr<Allocation> allocation;
    format::Content post;
    // Instead of `post`: the last state is on its way, behind the work of the stream.
    std::unique_ptr<StreamRead> last_state;
    std::shared_ptr<const WordsThen> words;
  };
  Freeing freeing(uint64_t address, Handle stream = nullptr, bool stream_ordered = false) noexcept;
  // `success` false: the real call refused, the allocation lives on.
  void freed(Freeing&& freeing, bool success, Handle stream = nullptr) noexcept;
  void resetting() noexcept;  // hipDeviceReset: everything ends

  // ---- device work (recorder_work.cpp) ----------------------------------------------------------
  // Before the call. nullptr: the work must be skipped. The kernel cannot be described, `held` says
  // why; or launches are idle.
  KernelEntry* find_kernel(Handle function, bool host_function, const char* call,
                           HeldFindings& held) noexcept;
  // A graph node's function: a host stub, else a hipFunction_t. Also where launches are idle.
  KernelEntry* find_any_kernel(Handle function, const char* call, HeldFindings& held) noexcept;
  // The call succeeded.
  void count(const HeldFindings& held) noexcept;
  void prepare(Work& work) noexcept;
  void commit(Work&& work) noexcept;
  // ---- launches (recorder_launches.cpp) ---------------------------------------------------------
  // Whether launches need not be looked at: no range that is recorded is open, and nothing is
  // captured. Takes no lock.
  bool launches_are_idle() const noexcept { return idle_.load(std::memory_order_acquire); }
  // Before the call. Takes no lock that another thread's launches take, and once buffers have grown
  // allocates nothing.
  LaunchWay launch_way(KernelEntry& kernel, void* const* params, void* const* extra) noexcept;
  // A launch whose way is not kWhole has succeeded.
  void launched(LaunchWay way, KernelEntry& kernel, const LaunchShape& shape, void* const* params,
                void* const* extra, Handle stream, const char* call) noexcept;

  // ---- streams, events (recorder_streams.cpp) ---------------------------------------------------
  void stream_created(Handle stream, uint32_t flags, int priority) noexcept;
  // Its handle may be given to another stream from now on, its work may go on: 0 if there was none
  // that the trace knows. And when its end has returned, after it `waited` for that work or not.
  format::StreamId stream_leaves(Handle stream) noexcept;
  void stream_destroyed(format::StreamId id, bool waited) noexcept;
  void event_created(Handle event, uint32_t flags) noexcept;
  void event_destroyed(Handle event) noexcept;
  void event_recorded(Handle event, Handle stream) noexcept;
  void stream_waits(Handle stream, Handle event, uint32_t flags) noexcept;
  // For a value in memory (recorder_values.cpp).
  void stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept;

  // ---- ranges and marks (recorder_marks.cpp) ----------------------------------------------------
  // Before the device is used they touch nothing. 0: nothing is recorded.
  format::RangeId range_begins(const char* name) noexcept;
  void range_ends(format::RangeId range) noexcept;
  void mark(const char* text) noexcept;
  void note_marker(const char* call, const char* detail) noexcept;
  // Of the allocation that holds the pointer (recorder_names.cpp).
  void name_memory(const void* pointer, const char* name) noexcept;

  // ---- launches that are selected (recorder_launches.cpp) ---------------------------------------
  // First in a call that launches, instead of what call_begins() does for others: the launch may
  // begin a recorded stretch, or go on with one that is about to be left.
  LaunchTurn launch_begins(const LaunchCall& launch) noexcept;
  // Last in it.
  void launch_ended(const LaunchCall& launch, const LaunchTurn& turn, bool success) noexcept;

  // ---- order: what the host knows (recorder_order.cpp) ------------------------------------------
  // First in each call of the program, on its thread. Takes no lock, unless a recorded stretch is
  // over: `joins` false leaves it first.
  void call_begins(bool joins = false) noexcept;
  // Each outermost call goes through it, if there is one: a flight recorder's.
  CallGate* gate() noexcept { return segments_ ? &segments_->gate : nullptr; }
  // A call has returned. Flushes what was gathered.
  void synchronized(format::SynchronizeKind kind, Handle object,
                    std::string_view call = {}) noexcept;
  // Before a call that tells the host what is done.
  void host_may_learn() noexcept;
  // A wrapped host function is about to run, on a thread of the runtime: takes no lock that is held
  // while the recorder waits for anything. What was issued before it is done. The result keeps
  // `call` alive while the program's function runs.
  struct HostRun {
    std::shared_ptr<HostCall> keep;
    uint64_t token = 0;
  };
  HostRun host_function_runs(HostCall& call) noexcept;
  // It returned, and what it wrote is there: sources of copies that wait behind it are read.
  void host_function_ran(const HostRun& run) noexcept;
  // Keeps it alive until it has run. Those of graph nodes stay for the life of the process: the
  // runtime copies their pointers, and runs them after hipGraphExecDestroy() has returned if a
  // launch is still in flight: no call tells when the last one is gone. nullptr: no memory.
  std::shared_ptr<HostCall> wrap_host_function(void* function, void* data, bool in_graph) noexcept;

  // ---- graphs (recorder_graphs.cpp) -------------------------------------------------------------
  Graphs& graphs() noexcept { return graphs_; }
  void prepare_graph_launch(Handle executable, Handle stream, Work& work) noexcept;

  // ---- findings, end ----------------------------------------------------------------------------
  void note_incomplete(std::string_view call, std::string_view detail = {}) noexcept;
  void note(std::string_view call, std::string_view detail) noexcept;
  // The program is about to end (exit, _exit, exec): post-states, summary, rename. Idempotent.
  void finish() noexcept;
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
  template <typename F>
  void registering(F&& function) noexcept;
  void finding(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding(kind, call, detail);
  }
  void finding_now(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding_now(kind, call, detail);
  }

  void open();
  void apply_registrations();
  void append(format::Action action);
  format::Event& push(format::Action action);

  std::shared_ptr<const WordsThen> words_now();
  void end_allocation_later(Freeing&& freeing, format::StreamId stream);
  std::optional<std::set<uint64_t>> read_doubted(Allocation& allocation, uint64_t first_block,
                                                 uint64_t last_block, const Work& reader);
  bool read_run(const Allocation& allocation, std::span<DeferredRead::Block> blocks,
                const Work& reader);
  void resolve_reads(bool all);
  void take_read(DeferredRead& read);

  void defer(DeferredSource source);
  std::vector<uint64_t> runs_to_come();
  std::vector<uint64_t> runs_before(format::StreamId stream);
  void resolve_deferred(bool all);

  // host functions' effects
  void watch(Allocation& allocation);
  void unwatch(Allocation& allocation);
  void host_function_ended(uint64_t run);
  void take_effects();
  void hold_words();
  void leave_later_targets(format::Content& content, format::AllocationId first_later);
  bool told_meanwhile(Allocation& allocation, uint64_t block, std::span<const std::byte> bytes);
  DeferredEffect* effect_of(uint64_t run);
  bool waits_for_effects(const Work& work);
  void defer_effect(uint64_t run, format::StreamId stream);
  void check_watched_host_writes();
  void run_beside_functions(const std::vector<Flight>& flights, const Work& work,
                            format::StreamId stream);
  void defer_effect(uint64_t run, format::Graph& graph, size_t ordinal, bool early);
  std::vector<Flight> nodes_beside(const std::vector<format::GraphNode>& nodes, size_t function,
                                   bool early);
  std::vector<format::Copy> copies_of(const DeferredEffect& effect, const format::Copy& pattern);
  bool beside(const DeferredEffect& effect, format::StreamId stream) const;
  bool functions_beside(format::StreamId stream);
  void read_beside_functions(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                             format::StreamId stream);
  void write_effect(DeferredEffect& effect);
  void write_into_beginning(const HostEffects::Change& change);
  // `read`: what its content was made of.
  void append_beginning(format::AllocationBegin begin, const ReadPiece& read);
  void defer_graph_sources(const ExecutableGraph& graph, std::vector<format::GraphNode>& nodes,
                           Work& work, std::span<const uint64_t> earlier,
                           std::vector<std::pair<size_t, DeferredSource>>& found);

  // order
  friend struct Work;
  void will_run(Work& work, std::vector<std::shared_ptr<HostCall>> calls, Handle executable);
  format::Event& append_work(Work& work);
  void forget_runs(Work& work) noexcept;
  void note_runs();
  bool host_waits(const Work& work, const format::Copy& copy);
  void stream_used(format::StreamId stream, uint64_t ticket);
  void stream_used(const format::Action& action, uint64_t ticket);
  void note_overlap();
  static uint64_t drawn_before() noexcept;
  void update_ways() noexcept;
  void hold_launches() noexcept;
  void drain(bool all = false) noexcept;
  template <typename LockModel>
  bool drain_in_order(bool all, LockModel&& lock_model);
  void drain_at_wait() noexcept;
  void drain_if_full() noexcept;
  bool flush_round() noexcept;
  void flusher_ends() noexcept;
  void end_by_signal() noexcept;
  void finish_contents();
  void note_bypasses() noexcept;
  void note(const std::vector<Device::Bypass>& bypasses);
  void end_trace();
  void wait_for_functions();
  void write_report_file() noexcept;
  void note_unrecorded_processes();
  void seal_trace();
  Result<std::unique_ptr<format::Writer>> new_writer() const;

  // segments (recorder_segments.cpp)
  bool next_segment(uint32_t own) noexcept;
  void end_segment();
  void begin_segment();
  void forget_trace();
  void describe_again(KernelEntry& kernel);
  void count_for_segment(const LaunchCall& launch) noexcept;
  void keep_segment() noexcept;

  // code
  bool describe_module(ModuleEntry& module, const char* call);
  KernelEntry* describe_kernel(CodeRegistry::FunctionName& function, const char* call);
  void end_globals(const ModuleEntry& module, const char* call);
  void discover_globals(ModuleEntry& module);
  void name_addresses(KernelEntry& entry);
  void discover_managed(ModuleEntry& module);
  void learn_code_range(const ModuleEntry& module, const Allocation& variable);
  void add_global(ModuleEntry& module, const std::string& name, uint64_t address, uint64_t size,
                  bool managed = false);

  // ranges and marks
  // What of the program is recorded (recorder_ranges.cpp).
  bool outside() const noexcept;
  void writes_outside(const RawAction& raw);
  void enter_range();
  void leave_range();
  void leave_if_over();
  void leave_now() noexcept;
  void end_contents(const char* call);
  void end_or_keep(Allocation& allocation, format::Content post);
  void end_kept(Allocation& allocation, bool freed);
  void refresh(Allocation& variable);
  void number(Allocation& allocation, format::AllocationId id);
  void take_in_trace(Allocation& allocation, format::AllocationBegin begin);
  void take_in_trace(Allocation& allocation);
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       std::span<const std::byte> bytes, const Allocation* holder);
  void take_in_targets(std::vector<format::Relocation>& relocations,
                       const std::function<uint64_t(uint64_t)>& held_at, const Allocation* holder);
  void take_in_variables(ModuleEntry& module);
  void note_left_range(const char* call);
  void note_missed_ranges();
  bool executes(const LaunchCall& launch) const;
  uint64_t matching(Handle function, bool host_function) noexcept;
  uint64_t matching(KernelEntry& kernel);
  template <typename Count>
  uint64_t count_kernels(const LaunchCall& launch, uint64_t mask, Count&& count);
  void append_marker(format::Marker marker);
  void append_early_markers();
  void place_marker(format::Marker marker);
  uint32_t count_range(const std::string& name);
  void note_open_ranges();

  // memory
  format::Content make_content(std::span<const std::byte> bytes, bool store);
  // `holder`: whose first content it is, or is read.
  format::Content make_content(std::span<const std::byte> bytes, bool store,
                               const WordResolver& words, const Allocation* holder = nullptr);
  void note_lost_bytes();
  // In pieces that `read` fills. Nothing: it failed (recorder_contents.cpp).
  std::optional<format::Content> take_content(uint64_t size_bytes, bool store,
                                              const WordResolver& words, const Allocation* holder,
                                              const ReadPiece& read);
  // `held`: when, for what is said if it cannot be read.
  enum class Held : uint8_t { kFirst, kLast };
  format::Content read_content(const Allocation& allocation, bool store, Held held);
  void note_unread(const Allocation& allocation, std::string_view call, Held held);
  // What it holds when it gets into the trace, as --contents says.
  format::Content first_content(const Allocation& allocation);
  bool leaves_out(const Allocation& allocation) const;
  bool is_fresh(const Allocation& allocation) const;
  void append_words(const Allocation& allocation, const format::Content& whole);
  format::Content post_content(const Allocation& allocation);
  void insert_allocation(std::shared_ptr<Allocation> allocation, format::AllocationBegin begin);
  void addresses_reused(const Allocation& entry);
  void note_targets(const format::Action& action);
  void end_allocation(const Allocation& allocation, bool freed, format::StreamId stream,
                      format::Content post);
  void check_host_writes(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                         const Work* reader = nullptr);
  void check_reachable_host_writes(const Work& reader, format::StreamId stream);
  bool may_find(Allocation& allocation, format::StreamId stream);
  void write_from_host(Allocation& allocation, uint64_t begin, std::span<const std::byte> bytes,
                       bool in_doubt = false);
  void write_from_host(Allocation& allocation, uint64_t begin, uint64_t size_bytes,
                       const ReadPiece& read);
  void mark_reachable(std::span<const format::Relocation> relocations, bool in_memory = false);
  void make_reachable(Allocation& allocation);
  Allocation* by_id(format::AllocationId id);
  std::vector<std::shared_ptr<Allocation>> map(std::shared_ptr<Allocation> allocation);
  void unmap(uint64_t address);
  void forget_code(const void* module);
  void forget_id(const Allocation& allocation);

  // flights
  void check_around_flights(Allocation& allocation, uint64_t block, std::span<const Flight> flights,
                            std::span<const std::byte> now);
  void take_in(Allocation& allocation, uint64_t begin, std::span<const std::byte> now);
  void take_in(Allocation& allocation);
  void take_off(Work& work, format::StreamId stream);
  void let_kernels_fly(Work& work, format::StreamId stream);
  void take_in_kernels(const Work& work, bool named_only);
  format::SynchronizeKind of_itself(format::StreamId stream) const;
  bool idle_within(Handle stream, std::chrono::microseconds time);
  bool kernels_end_soon(Handle stream);
  bool in_doubt(Allocation& allocation, uint64_t first_block, uint64_t last_block);
  std::set<uint64_t> end_doubt(Allocation& allocation, uint64_t offset, uint64_t size_bytes,
                               const Work& reader);
  bool doubted_kernels_end(const Allocation& allocation, uint64_t offset, uint64_t size_bytes);
  void kernels_take_off(Work& work, format::StreamId stream);
  void look_before_wait();
  void program_waited(const format::Action& action);
  bool known_idle(format::StreamId stream) const;
  bool streams_are_idle();
  bool wait_for_device(uint64_t address, uint32_t& issued) noexcept;
  format::Content content_at_end(Allocation& allocation, const char* call);
  void land(const std::vector<Flight>& landing);
  void land_block(Allocation& allocation, uint64_t block, std::span<const Flight> landing,
                  std::span<const std::byte> now);
  bool told_unchanged(const Allocation& allocation, uint64_t block, bool copies);
  void land_plain(Allocation& allocation, std::span<const Flight> landing, KeptBytes now);
  void adopt_host_memory(const ExecutableGraph& graph, Work& work);
  Allocation* find_adopted(uint64_t address, uint64_t size_bytes);
  Allocation* find_adopted_for(uint64_t address, uint64_t size_bytes);
  void write_around_adopted(const RawCopy& raw);
  format::Content last_content(const Allocation& allocation);

  // work
  KernelEntry* look_up_kernel(Handle function, bool host_function, const char* call,
                              HeldFindings& held) noexcept;
  format::Launch make_launch(RawLaunch raw, format::StreamId stream);
  bool words_are_enough(const KernelEntry& kernel, LaunchLane& lane) const;
  bool add_launch(LaunchLane& lane, const KernelEntry& kernel, format::StreamId stream,
                  const LaunchShape& shape);
  bool done_at_once(const Work& work) const;
  std::optional<format::Copy> make_copy(const RawCopy& raw, format::StreamId stream, Work& work);
  std::optional<format::Memset> make_memset(const RawMemset& raw, format::StreamId stream,
                                            Work& work);
  std::optional<format::Action> make_write(const RawWrite& raw, format::StreamId stream,
                                           Work& work);
  void follow_value(const RawValueWait& wait, format::StreamId stream, const char* call);
  void note_unknown_wait(const char* call, const char* why);
  Allocation* find_seen(uint64_t address) const;
  void hold_value(Allocation& allocation);
  void follow_values(const Work& work);
  RawMemset as_node(const RawMemset& raw);
  Allocation* allocation_at(uint64_t address, uint64_t& offset);
  bool carries_bytes(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                     const format::CopyEnd& destination, const Work& work);
  bool resolve_copy_end(const RawCopyEnd& raw, MemorySide side, uint64_t size_bytes, Work& work,
                        format::CopyEnd& end);
  std::optional<format::Content> take_rows(const RawCopy& raw, const RawCopyEnd& end, bool store);
  // Fills host_source of a copy from plain host memory. False: the memory cannot be read.
  bool read_copy_source(const RawCopy& raw, format::Copy& copy);
  void receive_copy_result(const Work& work, format::Copy& copy);
  void checkpoint();
  void writes(Work& work, Allocation& allocation, const Flight& flight);
  void gives(const format::Launch& launch, Work& work);
  void reachable_may_be_written(Work& work, format::StreamId stream);
  // The pointers in a launch's arguments; what is wrong with them becomes findings.
  void resolve_arguments(KernelEntry& kernel, std::span<const uint8_t> kernarg,
                         std::vector<format::Relocation>& relocations,
                         std::span<const format::Relocation> given = {});

  // streams
  format::StreamId stream_id(Handle stream);
  void know_stream(Handle stream, const format::StreamCreate& create);
  void forget_stream(Handle stream);
  format::EventId event_id(Handle event);

  // graphs
  void tell_by_functions(const std::vector<format::GraphNode>& nodes, Work& work);
  void note_lost_edges(const std::vector<format::GraphNode>& nodes);
  std::optional<std::vector<format::GraphNode>> materialise(const ExecutableGraph& graph,
                                                            Work& work);

  const Options options_;
  const std::unique_ptr<Device> device_;
  DeviceFacts facts_;
  Guard guard_{*this};
  Journal journal_{options_.redact};
  const Core core_{guard_, journal_, *device_, facts_, options_};
  Claim claim_;
  const std::unique_ptr<Segments> segments_;  // of a flight recorder
  // What each launch looks at, side by side: few lines of cache. The first three say how much more
  // it has to look at (recorder_launches.cpp), and fall with LaunchLanes::Alone.
  alignas(64) std::atomic<bool> plain_{false};
  std::atomic<bool> light_{false};
  std::atomic<bool> idle_{false};
  std::atomic<bool> any_ran_{false};    // of ran_
  std::atomic<bool> in_flight_{false};  // whether flights_ follows anything
  // The recorded stretch is over, and is left at the next call of the program: if that begins
  // another one, both are one.
  std::atomic<bool> leaving_{false};
  // Inside of a range that is recorded; always, if all of the program is.
  bool recording_ = true;
  std::atomic<uint64_t> span_{0};  // changes when a recorded stretch begins or ends
  FreshMemory fresh_;
  LaunchSelection launch_selection_;
  RangeSelection selection_;
  static constinit inline std::atomic<bool> elsewhere_{false};
  bool begun_ = false;
  bool finished_ = false;
  uint32_t finish_timeout_ms_ = 30'000;  // how long the end waits for the device

  // Of the first use of HIP: who records, and what the device is. Before all others.
  std::mutex asking_mutex_;
  std::atomic<bool> asked_{false};
  std::mutex registration_mutex_;  // last
  std::vector<std::function<void()>> registrations_;
  std::atomic<bool> any_registered_{false};
  // Before the guard's.
  std::mutex drain_mutex_;

  CodeRegistry code_;
  ByteStore store_;
  AllocationMap map_;
  // Plain host memory that copy nodes write: not in map_, because no kernel can reach it.
  std::vector<std::shared_ptr<Allocation>> adopted_;
  Flights flights_;
  std::atomic<bool> kernels_fly_{false};
  // Whether kernels may reach memory that the host sees; to be counted anew.
  bool any_reachable_ = false;
  bool recount_reachable_ = false;
  std::chrono::microseconds patience_{10'000};
  bool patient_ = false;
  bool kernels_wait_for_host_ = false;           // one did not end: nothing waits for others
  std::deque<DeferredRead> reads_;               // in the order in which they were issued
  std::shared_ptr<const WordsThen> words_then_;  // the last one
  WordResolver words_{map_};
  std::unordered_map<format::AllocationId, Allocation*> by_id_;
  StreamTable streams_{segments_ != nullptr};
  StreamUses uses_;
  // The program has waited for what was given to the device, or to a stream, up to these tickets.
  uint64_t waited_for_ = 0;
  std::unordered_map<format::StreamId, uint64_t> waited_for_stream_;
  StreamValues values_;
  // Whether streams write or wait for values: launches look for kernels that may write them, too.
  bool any_value_ = false;
  Graphs graphs_{core_, words_};
  format::AllocationId next_allocation_ = 1;
  // If only ranges are recorded: of those that are not in the trace, downwards.
  format::AllocationId next_untraced_ = UINT32_MAX;
  format::KernelId next_kernel_ = 1;
  format::CodeObjectId next_code_object_ = 1;
  format::GraphId next_graph_ = 1;
  format::HostFunctionId next_host_function_ = 1;
  std::unordered_map<std::string, uint32_t> range_counts_;
  std::set<format::RangeId> selected_;  // open ranges that are recorded
  std::set<format::RangeId> traced_;    // open ranges whose beginning is in the trace
  std::atomic<uint64_t> launches_{0};   // that returned, if launches are selected
  size_t selected_launches_ = 0;        // under way
  bool in_interval_ = false;            // a launch of an interval has begun, and more are to come
  Filling filling_ = Filling::kNothing;
  unsigned taking_in_ = 0;  // calls of take_in_trace() that are under way
  std::vector<format::AllocationId> in_a_cycle_;
  bool stretches_ordered_ = false;            // in the trace: this one and those before it
  bool left_out_ = false;                     // some content was
  std::unordered_set<uint64_t> stale_words_;  // of this range: addresses that led to freed memory
  std::unordered_set<format::AllocationId> ended_;  // if only ranges are recorded
  format::RangeId next_range_ = 1;
  std::map<format::RangeId, format::Marker> open_ranges_;  // as they began
  std::vector<format::Marker> early_markers_;
  uint64_t next_run_ = 1;
  std::unordered_map<uint64_t, format::HostFunctionId> run_ids_;  // of runs still to come
  std::unordered_map<uint64_t, Work*> issuing_;                   // by run: not appended yet

  // Taken last, and never while anything is waited for: the runtime's threads take it.
  std::mutex ran_mutex_;
  std::vector<uint64_t> ran_;
  std::unordered_map<HostCall*, std::shared_ptr<HostCall>> host_calls_;  // that the runtime has
  std::unordered_set<uint64_t> running_;  // runs that began and have not ended
  std::vector<DeferredSource> deferred_;
  std::vector<DeferredEffect> deferred_effects_;
  std::vector<DeferredBegin> deferred_begins_;  // with the lock
  uint64_t landing_run_ = 0;                    // the function that tells of what lands
  HostEffects effects_{store_};
  std::vector<HostEffects::Effect> ended_effects_;  // not yet taken into the known state
  std::atomic<bool> any_effect_{false};

  std::string_view reading_for_ = "memory";  // the call for which contents are read
  size_t unread_ = 0;                        // contents that could not be
  Report report_;
};

}  // namespace gfxgraph::recorder
