// What the host knew: the data that lets a replay keep the program's order and no more.
#include <algorithm>

#include "base/hip_quirks.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kStreamNonBlocking = 1;  // hipStreamNonBlocking
// kPlainSourceIsStaged; measured: 1,179,648 bytes are waited for.
constexpr uint64_t kMostStagedBytes = 1u << 20;
// 7.2.4 stages rows as well; 6.4.3 does not.
constexpr int32_t kRowsStagedFrom = 70'000'000;

// The last ticket when the call began that this thread is in.
thread_local uint64_t drawn_before_call = 0;
// The recorded stretch that it began in.
thread_local uint64_t span_of_call = 0;

}  // namespace

// ---- calls of several threads -------------------------------------------------------------------
//
// Events are in the order in which calls returned. For calls that follow one another, in one thread
// or because the program orders its threads, that is the order in which they were issued. Of calls
// that run at the same time nothing is known: a program whose result depends on their order has a
// race.

[[gnu::hot]] void Recorder::call_begins(bool joins) noexcept {
  if (!joins && leaving_.load(std::memory_order_acquire)) [[unlikely]]
    leave_now();
  const uint64_t span = span_.load(std::memory_order_acquire);
  // What begins while nothing is recorded is not, either.
  if (!launches_are_idle() || span != span_of_call)
    drawn_before_call = journal_.queue().last_drawn();
  span_of_call = span;
}

// Whether this thread's call is not recorded: it began outside of the range that is, or after it.
bool Recorder::outside() const noexcept {
  if (selection_.empty()) return false;
  return !recording_ || span_of_call != span_.load(std::memory_order_relaxed);
}

void Recorder::stream_used(format::StreamId stream, uint64_t ticket) {
  if (uses_.overlaps(stream, ticket, drawn_before_call, thread_number(), journal_.lanes().mine(),
                     journal_.lanes())) {
    note_overlap();
  }
}

void Recorder::note_overlap() {
  finding_now(format::FindingKind::kNote, "threads",
              "gave work to one stream at the same time: its order is not known, and recorded as "
              "the calls returned");
}

uint64_t Recorder::drawn_before() noexcept { return drawn_before_call; }

void Recorder::stream_used(const format::Action& action, uint64_t ticket) {
  if (const auto* created = std::get_if<format::StreamCreate>(&action)) {
    const LaunchLanes::Alone alone(journal_.lanes());
    uses_.add(created->id, (created->flags & kStreamNonBlocking) == 0);
    return;
  }
  std::visit(
      [&]<typename T>(const T& one) {
        if constexpr (std::is_same_v<T, format::Launch> || std::is_same_v<T, format::Copy> ||
                      std::is_same_v<T, format::Memset> ||
                      std::is_same_v<T, format::HostFunction> ||
                      std::is_same_v<T, format::GraphLaunch> ||
                      std::is_same_v<T, format::EventRecord>) {
          stream_used(one.stream, ticket);
        } else if constexpr (std::is_same_v<T, format::StreamWait>) {
          const uint64_t before = uses_.last(one.stream);
          stream_used(one.stream, ticket);
          uses_.waits(one.stream, before);
        }
      },
      action);
}

// For what had been given to the device before this thread's call began.
void Recorder::program_waited(const format::Action& action) {
  const auto* wait = std::get_if<format::Synchronize>(&action);
  if (wait == nullptr) return;
  if (wait->kind == format::SynchronizeKind::kDevice) {
    waited_for_ = std::max(waited_for_, drawn_before_call);
  } else if (wait->kind == format::SynchronizeKind::kStream ||
             wait->kind == format::SynchronizeKind::kStreamItself) {
    uint64_t& until = waited_for_stream_[wait->object];
    until = std::max(until, drawn_before_call);
  }
}

bool Recorder::known_idle(format::StreamId stream) const {
  const auto waited = waited_for_stream_.find(stream);
  const uint64_t until = waited == waited_for_stream_.end() ? 0 : waited->second;
  return uses_.unused_since(stream, std::max(until, waited_for_));
}

// Whether all work of the program is done, as far as can be known without waiting. The null stream
// is asked last: while others work, the question gives it a marker that waits for them (HIP 5.2.3),
// and what they are given later waits for that. A thread's own stream can be asked by that thread
// alone, and one that is captured not at all.
bool Recorder::streams_are_idle() {
  std::vector<void*> asked;
  for (const auto& [handle, id] : streams_.streams()) {
    if (known_idle(id)) continue;
    if (streams_.own(id)) return false;
    asked.push_back(const_cast<void*>(handle));
  }
  if (!known_idle(0)) asked.push_back(nullptr);
  if (asked.empty()) return true;
  return graphs_.captures().none() && device_->idle(asked);
}

// That a stream is done, but not what the null stream was given since.
format::SynchronizeKind Recorder::of_itself(format::StreamId stream) const {
  return uses_.before_null_stream(stream) ? format::SynchronizeKind::kStreamItself
                                          : format::SynchronizeKind::kStream;
}

void Recorder::synchronized(format::SynchronizeKind kind, Handle object,
                            std::string_view call) noexcept {
  bool reads_wait = false;
  guarded([&] {
    if (outside()) return;
    if (call == "hipHostUnregister" &&
        hip_quirk_seen(HipQuirk::kUnregisterWaitsForDevice, facts_.runtime_version)) {
      kind = format::SynchronizeKind::kDevice;
    }
    uint32_t id = 0;
    if (kind == format::SynchronizeKind::kStream) id = stream_id(object);
    // Other calls give the stream work, which follows the null stream's.
    if ((call.starts_with("hipStreamSynchronize") || call.starts_with("hipStreamQuery")) &&
        !hip_quirk_seen(HipQuirk::kStreamWaitsForNullStream, facts_.runtime_version)) {
      kind = of_itself(id);
    }
    if (kind == format::SynchronizeKind::kEvent) id = event_id(object);
    append(format::Synchronize{kind, id, std::string(call)});
    reads_wait = !reads_.empty();
  });
  // They have come, most likely, and hold memory that later ones need.
  if (reads_wait) return drain();
  drain_at_wait();
}

// The runtimes known return from an asynchronous copy when it is done if one end is plain host
// memory, or both ends are the host's (HIP 5.2.3; measured, tests/recorder/program_order.hip), but
// for what their quirks say.
bool Recorder::host_waits(const Work& work, const format::Copy& copy) {
  const Allocation* destination = by_id(copy.destination.allocation);
  const Allocation* source = by_id(copy.source.allocation);
  const auto on_device = [](const Allocation* one) {
    return one != nullptr && !one->host_visible();
  };
  const auto plain = [](const Allocation* one) { return one == nullptr || one->plain_host; };
  // The kind of call tells, not the shape: hipMemcpy2D of one row is one, too.
  if (plain(source) && plain(destination) && copy.destination.pitch_bytes != 0 &&
      hip_quirk_seen(HipQuirk::kPlainRowsWaitForNothing, facts_.runtime_version)) {
    return false;
  }
  if (work.knows != Knows::BY_ARGUMENT) {
    return work.knows != Knows::NOTHING &&
           !(on_device(destination) && on_device(source) &&
             hip_quirk_seen(HipQuirk::kDeviceCopyReturnsAtOnce, facts_.runtime_version));
  }
  const bool may_be_staged =
      copy.destination.pitch_bytes == 0 || facts_.runtime_version >= kRowsStagedFrom;
  if (may_be_staged && plain(source) && on_device(destination) &&
      copy.width_bytes * copy.height * copy.depth <= kMostStagedBytes &&
      hip_quirk_seen(HipQuirk::kPlainSourceIsStaged, facts_.runtime_version)) {
    return false;
  }
  return plain(destination) || plain(source) ||
         (destination->host_visible() && source->host_visible());
}

// ---- host functions -----------------------------------------------------------------------------

// The work, which is about to be issued, will run these.
void Recorder::will_run(Work& work, std::vector<std::shared_ptr<HostCall>> calls,
                        Handle executable) {
  if (calls.empty()) return;
  work.issuing = this;
  work.first_run = next_run_;
  work.runs = static_cast<uint32_t>(calls.size());
  work.host_calls = std::move(calls);
  next_run_ += work.runs;
  const std::lock_guard lock(ran_mutex_);
  for (uint32_t i = 0; i < work.runs; ++i) {
    issuing_[work.first_run + i] = &work;
    const std::shared_ptr<HostCall>& call = work.host_calls[i];
    if (!call) continue;
    deferred_effects_.push_back({.run = work.first_run + i, .first_later = next_allocation_});
    call->runs.push_back({work.first_run + i, executable, false});
  }
}

// Appends the work's event, and gives its host functions their ids.
format::Event& Recorder::append_work(Work& work) {
  work.appended = true;
  for (uint32_t i = 0; i < work.runs; ++i) {
    run_ids_[work.first_run + i] = next_host_function_ + i;
    issuing_.erase(work.first_run + i);
  }
  if (work.runs != 0) {
    const format::StreamId stream = stream_id(work.stream);
    if (auto* function = std::get_if<format::HostFunction>(&*work.action)) {
      defer_effect(work.first_run, function->stream);
      function->id = next_host_function_;
    } else if (auto* launch = std::get_if<format::GraphLaunch>(&*work.action)) {
      launch->first_host_function = next_host_function_;
    }
    const std::vector<Flight> beside = flights_.beside(stream);
    const std::lock_guard lock(ran_mutex_);
    for (uint32_t i = 0; i < work.runs; ++i) {
      DeferredEffect* const effect = effect_of(work.first_run + i);
      if (effect == nullptr) continue;
      effect->first = next_host_function_;
      effect->first_later = next_allocation_;
      for (const Flight& flight : beside) effect->add(flight);
    }
    next_host_function_ += work.runs;
  }
  if (work.runs != 0) flights_.functions_follow(work.first_own, std::move(work.told_numbers));
  format::Event& event = push(std::move(*work.action));
  event.site =
      journal_.sites().at(work.called_at);  // another thread may be the one that appends it
  return event;
}

Work::~Work() {
  if (issuing != nullptr && !appended) issuing->forget_runs(*this);
}

// The call was refused, or its work is a node of a capture now: nothing runs yet.
void Recorder::forget_runs(Work& work) noexcept {
  guarded([&] {
    const std::lock_guard lock(ran_mutex_);
    for (uint32_t i = 0; i < work.runs; ++i) {
      const uint64_t token = work.first_run + i;
      issuing_.erase(token);
      for (DeferredSource& source : deferred_) std::erase(source.runs, token);
      if (DeferredEffect* effect = effect_of(token)) effect->ended = true;  // its graph is there
      std::erase_if(deferred_effects_, [&](const DeferredEffect& effect) {
        return effect.run == token && effect.graph == nullptr;
      });
      HostCall* call = work.host_calls[i].get();
      if (call == nullptr) continue;
      std::erase_if(call->runs, [&](const HostCall::Run& run) { return run.token == token; });
      if (call->runs.empty() && !call->in_graph) host_calls_.erase(call);
    }
  });
}

std::shared_ptr<HostCall> Recorder::wrap_host_function(void* function, void* data,
                                                       bool in_graph) noexcept {
  std::shared_ptr<HostCall> wrapped;
  guarded_unlocked([&] {
    auto made = std::make_shared<HostCall>();
    made->function = function;
    made->data = data;
    made->in_graph = in_graph;
    const std::lock_guard lock(ran_mutex_);
    host_calls_[made.get()] = made;
    wrapped = std::move(made);
  });
  return wrapped;
}

Recorder::HostRun Recorder::host_function_runs(HostCall& call) noexcept {
  HostRun result;
  try {
    const std::lock_guard lock(ran_mutex_);
    const auto found = host_calls_.find(&call);
    if (found == host_calls_.end()) return result;
    result.keep = found->second;
    std::vector<HostCall::Run>& runs = call.runs;
    if (runs.empty()) {
      if (!call.in_graph) host_calls_.erase(found);
      return result;
    }
    result.token = runs.front().token;
    running_.insert(result.token);
    effects_.begin(result.token);
    // Nodes of one executable run in order of its launches. Of several executables that were made
    // from one graph, any may be the one that runs: the host is taken to know of all of them.
    const bool one = std::all_of(runs.begin(), runs.end(), [&](const HostCall::Run& run) {
      return run.executable == runs.front().executable;
    });
    for (HostCall::Run& run : runs) {
      if (!run.told) ran_.push_back(run.token);
      run.told = true;
      if (one) break;
    }
    runs.erase(runs.begin());
    if (runs.empty() && !call.in_graph) host_calls_.erase(found);
    any_ran_.store(true, std::memory_order_release);
  } catch (const std::exception& caught) {
    note_incomplete("host function", caught.what());
  }
  return result;
}

void Recorder::host_function_ran(const HostRun& run) noexcept {
  if (run.token == 0) return;
  try {
    const std::lock_guard lock(ran_mutex_);
    running_.erase(run.token);
    host_function_ended(run.token);
    for (DeferredSource& source : deferred_) {
      if (std::erase(source.runs, run.token) == 0) continue;
      source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
    }
  } catch (const std::exception& caught) {
    note_incomplete("host function", caught.what());
  }
}

std::vector<uint64_t> Recorder::runs_to_come() {
  const std::lock_guard lock(ran_mutex_);
  std::vector<uint64_t> tokens(running_.begin(), running_.end());
  for (const auto& [call, kept] : host_calls_) {
    for (const HostCall::Run& run : kept->runs) tokens.push_back(run.token);
  }
  return tokens;
}

// Those that the next work of the stream waits for.
std::vector<uint64_t> Recorder::runs_before(format::StreamId stream) {
  const std::lock_guard lock(ran_mutex_);
  std::vector<uint64_t> tokens;
  for (const DeferredEffect& effect : deferred_effects_) {
    if (!effect.ended && effect.first != 0 && flights_.follows(stream, effect.first))
      tokens.push_back(effect.run);
  }
  return tokens;
}

void Recorder::defer(DeferredSource source) {
  const std::lock_guard lock(ran_mutex_);
  // One that has run in the meantime has filled the memory by now.
  std::erase_if(source.runs, [&](uint64_t token) {
    return !running_.contains(token) &&
           std::none_of(host_calls_.begin(), host_calls_.end(), [&](const auto& entry) {
             return std::any_of(entry.second->runs.begin(), entry.second->runs.end(),
                                [&](const HostCall::Run& run) { return run.token == token; });
           });
  });
  source.bytes = keep_host_rows(store_, source.raw, source.raw.source);
  source.first_later = next_allocation_;
  deferred_.push_back(std::move(source));
}

// Copy nodes that follow host functions, nodes or `earlier` ones of streams: what these write into
// the source is read when they have run.
void Recorder::defer_graph_sources(const ExecutableGraph& graph,
                                   std::vector<format::GraphNode>& nodes, Work& work,
                                   std::span<const uint64_t> earlier,
                                   std::vector<std::pair<size_t, DeferredSource>>& found) {
  const bool plain_early =
      hip_quirk_seen(HipQuirk::kPlainSourceNodeReadsEarly, facts_.runtime_version);
  std::vector<std::vector<uint64_t>> before(nodes.size());  // runs that a node follows
  uint64_t token = work.first_run;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<uint64_t>& runs = before[i];
    runs.assign(earlier.begin(), earlier.end());
    for (const uint32_t dependency : nodes[i].dependencies) {
      runs.insert(runs.end(), before[dependency].begin(), before[dependency].end());
    }
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    if (std::holds_alternative<format::HostFunction>(nodes[i].action)) runs.push_back(token++);
    auto* copy = std::get_if<format::Copy>(&nodes[i].action);
    if (copy == nullptr || runs.empty()) continue;
    Allocation* const source = by_id(copy->source.allocation);
    if (source != nullptr && (!source->host_visible() || source->watched)) continue;
    if (source == nullptr && plain_early) continue;
    if (copy->destination.allocation == 0) continue;  // one end must be in the trace
    DeferredSource deferred;
    deferred.raw = std::get<RawCopy>(graph.nodes[i].action);
    if (source != nullptr) {
      // Nodes that write the memory have it watched. What else may do so is not the functions'.
      const uint64_t begin = copy->source.offset_bytes;
      if (!flights_.over(source->id, begin, begin + copy_extent(deferred.raw, deferred.raw.source))
               .empty()) {
        check_host_writes(*source, 0, source->size_bytes);
        watch(*source);
        continue;
      }
      deferred.raw.source.address = source->host_address + copy->source.offset_bytes;
      copy->source = {};
    }
    deferred.runs = runs;
    if (!read_copy_source(deferred.raw, *copy)) {
      finding(format::FindingKind::kIncomplete, work.call, "a copy node's source cannot be read");
    }
    found.emplace_back(i, std::move(deferred));
  }
}

// Before anything else is appended: whatever that is, it was issued after these ran, or at the same
// time, when more order does no harm.
void Recorder::note_runs() {
  std::vector<uint64_t> ran;
  {
    const std::lock_guard lock(ran_mutex_);
    ran.swap(ran_);
    any_ran_.store(false, std::memory_order_relaxed);
  }
  std::vector<uint64_t> later;
  for (const uint64_t token : ran) {
    // Its call has not returned yet, to the thread that made it.
    if (const auto issuing = issuing_.find(token); issuing != issuing_.end()) {
      // Not even issued: another executable of the same graph ran.
      if (!issuing->second->action) {
        later.push_back(token);
        continue;
      }
      append_work(*issuing->second);
    }
    const auto id = run_ids_.find(token);
    if (id == run_ids_.end()) continue;
    landing_run_ = token;
    push(format::Synchronize{format::SynchronizeKind::kHostFunction, id->second, {}});
    landing_run_ = 0;
    run_ids_.erase(id);
    const std::lock_guard lock(ran_mutex_);
    effects_.drop(token);
  }
  if (later.empty()) return;
  const std::lock_guard lock(ran_mutex_);
  ran_.insert(ran_.begin(), later.begin(), later.end());
  any_ran_.store(true, std::memory_order_release);
}

}  // namespace gfxgraph::recorder
