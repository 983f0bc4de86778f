// Eager: the calls in recorded order, on streams and events made like the recorded ones. The null
// stream is the null stream. A synchronous copy is its asynchronous form and a wait.
#include <fmt/format.h>

#include <algorithm>

#include "replayer/executor.h"

namespace gfxgraph::replayer {
namespace {

// hipEventBlockingSync, hipEventDisableTiming and the release scopes; hipEventInterprocess is not
// needed to replay in one process.
constexpr uint32_t kEventFlags = 0x1 | 0x2 | 0x40000000 | 0x80000000;

class EagerExecutor : public Executor {
 public:
  EagerExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))) {}

  ~EagerExecutor() override {
    for (hip::Event event : events_) {
      if (event != nullptr) instance_.hip().hipEventDestroy(event);
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
    return {};
  }

  Result<void> run(hip::Stream stream) override {
    // What the caller queued on its own stream comes first.
    if (stream != nullptr) {
      const hip::Error code = instance_.hip().hipStreamSynchronize(stream);
      if (code != hip::kSuccess) return instance_.library().check(code, "hipStreamSynchronize");
    }
    const auto total = static_cast<uint32_t>(instance_.program().operations().size());
    for (const Step& step : instance_.program().steps()) {
      const bool acts = step.kind == StepKind::kOperation || step.kind == StepKind::kGraphLaunch ||
                        step.kind == StepKind::kHostWrite;
      if (acts && limit_ < total && step.first_operation >= limit_) break;
      GFXGRAPH_TRY(apply(step));
    }
    return {};
  }

  Result<void> wait(hip::Stream) override {
    for (hip::Stream stream : streams_) {  // [0] is the null stream
      const hip::Error code = instance_.hip().hipStreamSynchronize(stream);
      if (code != hip::kSuccess) return instance_.library().check(code, "hipStreamSynchronize");
    }
    return {};
  }

 private:
  Result<void> apply(const Step& step) {
    const HipTable& hip = instance_.hip();
    hip::Error code = hip::kSuccess;
    switch (step.kind) {
      case StepKind::kOperation:
      case StepKind::kGraphLaunch: return submit(step);
      case StepKind::kEventRecord:
        code = hip.hipEventRecord(events_[step.event], streams_[step.stream]);
        break;
      case StepKind::kStreamWait:
        code = hip.hipStreamWaitEvent(streams_[step.stream], events_[step.event], 0);
        break;
      case StepKind::kSynchronize: code = synchronize(step); break;
      case StepKind::kHostWrite:
        GFXGRAPH_TRY(wait(nullptr));
        instance_.apply_host_write(step.host_write);
        break;
    }
    if (code == hip::kSuccess) [[likely]]
      return {};
    return instance_.library().check(code, fmt::format("event {}", step.sequence));
  }

  Result<void> submit(const Step& step) {
    const uint32_t end = std::min(limit_, step.first_operation + step.operation_count);
    for (uint32_t i = step.first_operation; i < end; ++i) {
      hip::Error code = instance_.submit(i, streams_[step.stream]);
      if (code == hip::kSuccess && instance_.program().operations()[i].blocking) {
        code = instance_.hip().hipStreamSynchronize(streams_[step.stream]);
      }
      if (code != hip::kSuccess)
        return instance_.library().check(code, instance_.program().describe(i));
    }
    return {};
  }

  hip::Error synchronize(const Step& step) const {
    switch (step.synchronize) {
      case format::SynchronizeKind::kDevice: return instance_.hip().hipDeviceSynchronize();
      case format::SynchronizeKind::kStream:
        return instance_.hip().hipStreamSynchronize(streams_[step.object]);
      case format::SynchronizeKind::kEvent:
        return instance_.hip().hipEventSynchronize(events_[step.object]);
    }
    return hip::kSuccess;
  }

  Instance& instance_;
  uint32_t limit_;
  std::vector<hip::Stream> streams_;  // index = id, [0] null
  std::vector<hip::Event> events_;    // index = id, [0] unused
};

}  // namespace

Result<std::unique_ptr<Executor>> make_eager_executor(Instance& instance,
                                                      const ExecutorOptions& options) {
  auto executor = std::make_unique<EagerExecutor>(instance, options);
  GFXGRAPH_TRY(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace gfxgraph::replayer
