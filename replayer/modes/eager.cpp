// Eager: the calls in recorded order, on streams and events created like the recorded ones. The
// null stream remains the null stream. A synchronous copy becomes its asynchronous form and a wait.
// Where the host knew that a host function ran, replay waits for an event at the function's place
// in its stream.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "replayer/session/executor.h"

namespace gfxgraph::replayer {
namespace {

// hipEventBlockingSync, hipEventDisableTiming and the release scopes; hipEventInterprocess is not
// needed to replay in one process.
constexpr uint32_t kEventFlags = 0x1 | 0x2 | 0x40000000 | 0x80000000;

class EagerExecutor : public Executor {
 public:
  EagerExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        runs_(instance.library()),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))) {}

  ~EagerExecutor() override {
    for (const std::vector<hip::Event>* events : {&events_, &own_events_}) {
      for (hip::Event event : *events) {
        if (event != nullptr) instance_.hip().hipEventDestroy(event);
      }
    }
    for (hip::Stream stream : streams_) {
      if (stream != nullptr) instance_.hip().hipStreamDestroy(stream);
    }
  }

  Result<void> prepare() {
    const Program& program = instance_.program();
    const HipTable& hip = instance_.hip();
    streams_.resize(program.streams().size());
    for (size_t id = 1; id < streams_.size(); ++id) {
      // The null streams of all recorded devices are one here: that adds order, and removes none.
      if (program.is_null_stream(static_cast<format::StreamId>(id))) continue;
      const StreamInfo& info = program.streams()[id];
      const hip::Error code =
          info.priority != 0 && hip.hipStreamCreateWithPriority != nullptr
              ? hip.hipStreamCreateWithPriority(&streams_[id], info.flags, info.priority)
              : hip.hipStreamCreateWithFlags(&streams_[id], info.flags);
      GFXGRAPH_TRY(instance_.library().check(code, fmt::format("stream {}", id)));
    }
    events_.resize(program.events().size());
    for (size_t id = 1; id < events_.size(); ++id) {
      GFXGRAPH_TRY(instance_.library().check(
          hip.hipEventCreateWithFlags(&events_[id], program.events()[id] & kEventFlags),
          fmt::format("event {}", id)));
    }
    assign_slots();
    const std::vector<Operation>& operations = program.operations();
    const bool reached = std::any_of(operations.begin(), operations.end(),
                                     [](const Operation& one) { return one.reaches_host; });
    own_events_.resize(slots_ + (reached && streams_.size() > 1 ? 1 : 0));
    for (hip::Event& event : own_events_) {
      GFXGRAPH_TRY(instance_.library().check(
          hip.hipEventCreateWithFlags(&event, hip::kDisableTiming), "an event of the replay"));
    }
    seen_.resize(streams_.size());
    uses_null_stream_ = std::ranges::any_of(program.calls(), [&](const Call& call) {
      const bool kind = call.kind == CallKind::kOperation || call.kind == CallKind::kGraphLaunch ||
                        call.kind == CallKind::kEventRecord || call.kind == CallKind::kStreamWait ||
                        call.kind == CallKind::kHostFunction;
      return kind && program.is_null_stream(call.stream);
    });
    return {};
  }

  Result<void> run(hip::Stream stream) override {
    // Work that the caller queued on its own stream comes first.
    if (stream != nullptr) {
      GFXGRAPH_TRY(instance_.library().check(instance_.hip().hipStreamSynchronize(stream),
                                             "hipStreamSynchronize"));
    }
    const auto total = static_cast<uint32_t>(instance_.program().operations().size());
    std::fill(seen_.begin(), seen_.end(), 0);
    epoch_ = 0;
    size_t index = 0;
    HostPart host;
    const std::vector<Border>& borders = instance_.program().borders();
    for (const Call& call : instance_.program().calls()) {
      slot_ = call_slots_[index++];
      if (call.acts() && limit_ < total && call.first_operation >= limit_) break;
      for (; host.first_border < borders.size() &&
             borders[host.first_border].sequence < call.sequence;
           ++host.first_border) {
        GFXGRAPH_TRY(wait(nullptr));
        host.borders = 1;
        GFXGRAPH_TRY(instance_.host_acts(host));
      }
      GFXGRAPH_TRY(apply(call));
    }
    return {};
  }

  Result<void> wait(hip::Stream) override {
    const hip::Error code = synchronize_streams();
    if (code != hip::kSuccess) return instance_.library().check(code, "hipStreamSynchronize");
    instance_.collect_results();
    return {};
  }

  Result<bool> is_complete(hip::Stream) override {
    for (size_t id = uses_null_stream_ ? 0 : 1; id < streams_.size(); ++id) {
      GFXGRAPH_ASSIGN_OR_RETURN(const bool idle, instance_.library().is_idle(streams_[id]));
      if (!idle) return false;
    }
    return true;
  }

  RunsInFlight& runs() override { return runs_; }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  // Which of the replay's own events stands for a host function, from its call to the call that
  // waits for it: as few as are in use at one time.
  void assign_slots() {
    const Program& program = instance_.program();
    std::unordered_map<format::HostFunctionId, uint32_t> slot_of;
    std::vector<uint32_t> waits;  // by slot: functions still waited for
    std::vector<uint32_t> free;
    for (const Call& call : program.calls()) {
      uint32_t& slot = call_slots_.emplace_back(kNoSlot);
      if (call.kind == CallKind::kSynchronize &&
          call.synchronize == format::SynchronizeKind::kHostFunction) {
        const auto found = slot_of.find(call.object);
        if (found == slot_of.end()) continue;  // an earlier call waited for it
        slot = found->second;
        slot_of.erase(found);
        if (--waits[slot] == 0) free.push_back(slot);
      }
      const uint32_t functions = program.host_functions_of(call);
      for (uint32_t i = 0; i < functions; ++i) {
        if (!program.awaited(call.first_host_function + i)) continue;
        if (slot == kNoSlot) {
          if (free.empty()) {
            free.push_back(slots_++);
            waits.push_back(0);
          }
          slot = free.back();
          free.pop_back();
        }
        ++waits[slot];
        slot_of[call.first_host_function + i] = slot;
      }
    }
  }

  // The host may have read results of kernels that write its memory: work that it issued later, on
  // any stream, follows these kernels.
  hip::Error follow_host(format::StreamId stream) {
    if (seen_[stream] == epoch_ || streams_.size() < 2) return hip::kSuccess;
    seen_[stream] = epoch_;
    return instance_.hip().hipStreamWaitEvent(streams_[stream], own_events_[slots_], 0);
  }
  hip::Error reached_host(format::StreamId stream) {
    if (streams_.size() < 2) return hip::kSuccess;
    seen_[stream] = ++epoch_;
    return instance_.hip().hipEventRecord(own_events_[slots_], streams_[stream]);
  }

  Result<void> apply(const Call& call) {
    const HipTable& hip = instance_.hip();
    hip::Error code = hip::kSuccess;
    switch (call.kind) {
      case CallKind::kOperation:
      case CallKind::kGraphLaunch: return submit(call);
      case CallKind::kEventRecord:
        code = hip.hipEventRecord(events_[call.event], streams_[call.stream]);
        break;
      case CallKind::kStreamWait:
        code = hip.hipStreamWaitEvent(streams_[call.stream], events_[call.event], 0);
        break;
      case CallKind::kSynchronize: code = synchronize(call); break;
      case CallKind::kHostFunction:
        if (slot_ != kNoSlot) code = hip.hipEventRecord(own_events_[slot_], streams_[call.stream]);
        break;
      case CallKind::kHostWrite:
        GFXGRAPH_TRY(wait(nullptr));
        instance_.host_writes().apply(call.host_write, 1);
        break;
    }
    if (code == hip::kSuccess) [[likely]]
      return {};
    return instance_.library().check(code, fmt::format("event {}", call.sequence));
  }

  Result<void> submit(const Call& call) {
    const uint32_t end = std::min(limit_, call.first_operation + call.operation_count);
    bool reaches_host = false;
    hip::Error code = follow_host(call.stream);
    for (uint32_t i = call.first_operation; i < end; ++i) {
      const Operation& operation = instance_.program().operations()[i];
      if (code == hip::kSuccess) code = instance_.submit(i, streams_[call.stream]);
      if (code == hip::kSuccess && operation.blocking) {
        code = instance_.hip().hipStreamSynchronize(streams_[call.stream]);
      }
      if (code != hip::kSuccess) return instance_.failure(code, i);
      reaches_host = reaches_host || operation.reaches_host;
    }
    if (reaches_host) code = reached_host(call.stream);
    if (code == hip::kSuccess && slot_ != kNoSlot) {
      code = instance_.hip().hipEventRecord(own_events_[slot_], streams_[call.stream]);
    }
    if (code != hip::kSuccess)
      return instance_.library().check(code, fmt::format("event {}", call.sequence));
    return {};
  }

  // Not the whole device: other users may have work on it that never ends. Nor, unless needed, the
  // null stream, which waits for everyone's blocking streams.
  hip::Error synchronize_streams() const {
    for (size_t id = uses_null_stream_ ? 0 : 1; id < streams_.size(); ++id) {
      const hip::Error code = instance_.hip().hipStreamSynchronize(streams_[id]);
      if (code != hip::kSuccess) return code;
    }
    return hip::kSuccess;
  }

  hip::Error synchronize(const Call& call) const {
    switch (call.synchronize) {
      case format::SynchronizeKind::kDevice: return synchronize_streams();
      case format::SynchronizeKind::kStream:
      case format::SynchronizeKind::kStreamItself:
        if (streams_[call.object] == nullptr && !uses_null_stream_) return synchronize_streams();
        return instance_.hip().hipStreamSynchronize(streams_[call.object]);
      case format::SynchronizeKind::kEvent:
        return instance_.hip().hipEventSynchronize(events_[call.object]);
      case format::SynchronizeKind::kHostFunction:
        if (slot_ == kNoSlot) return hip::kSuccess;
        return instance_.hip().hipEventSynchronize(own_events_[slot_]);
    }
    return hip::kSuccess;
  }

  Instance& instance_;
  StreamRuns runs_;
  uint32_t limit_;
  std::vector<hip::Stream> streams_;  // index = id, [0] null
  bool uses_null_stream_ = false;
  std::vector<hip::Event> events_;  // index = id, [0] unused
  // The replay's own events: a host function's by slot, then the one of follow_host().
  std::vector<hip::Event> own_events_;
  std::vector<uint32_t> call_slots_;  // by call
  uint32_t slots_ = 0;
  uint32_t slot_ = kNoSlot;     // of the current call
  uint64_t epoch_ = 0;          // kernels that reached the host's memory
  std::vector<uint64_t> seen_;  // by stream: the last of them that it follows
};

}  // namespace

Result<std::unique_ptr<Executor>> make_eager_executor(Instance& instance,
                                                      const ExecutorOptions& options) {
  auto executor = std::make_unique<EagerExecutor>(instance, options);
  GFXGRAPH_TRY(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace gfxgraph::replayer
