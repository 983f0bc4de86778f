// Batch: every operation in recorded order on one stream. The order of the calls is one in which
// all operations may run, so one stream satisfies every dependency between the recorded streams.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "replayer/session/executor.h"

namespace gfxgraph::replayer {
namespace {

// HIP keeps about 600 bytes for each operation that is not known to be complete: in long programs,
// between this number and twice as many are in flight.
constexpr uint32_t kInFlight = 8192;
// hipEventBlockingSync (8,192 operations are left to do: nothing is lost by sleeping),
// hipEventDisableTiming.
constexpr uint32_t kMarkFlags = 0x1 | 0x2;

class BatchExecutor : public Executor {
 public:
  BatchExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        runs_(instance.library()),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))) {}

  ~BatchExecutor() override {
    for (const hip::Event mark : marks_) {
      if (mark != nullptr) instance_.hip().hipEventDestroy(mark);
    }
  }

  Result<void> prepare() {
    if (limit_ <= 2 * kInFlight) return {};
    for (hip::Event& mark : marks_) {
      GFXGRAPH_TRY(instance_.library().check(
          instance_.hip().hipEventCreateWithFlags(&mark, kMarkFlags), "event of a long batch"));
    }
    return {};
  }

  Result<void> run(hip::Stream stream) override {
    const Program& program = instance_.program();
    runs_.begin(stream);
    uint32_t marks = 0;
    const auto total = static_cast<uint32_t>(program.operations().size());
    for (const Segment& segment : program.segments()) {
      if (limit_ < total && segment.first_operation >= limit_) break;
      if (segment.host.any()) {
        GFXGRAPH_TRY(wait(stream));
        GFXGRAPH_TRY(instance_.host_acts(segment.host));
      }
      const uint32_t end = std::min(limit_, segment.first_operation + segment.operation_count);
      for (uint32_t i = segment.first_operation; i < end; ++i) {
        const hip::Error code = instance_.submit(i, stream);
        if (code != hip::kSuccess) [[unlikely]]
          return instance_.failure(code, i);
        if (i % kInFlight == kInFlight - 1 && marks_[0] != nullptr) [[unlikely]]
          GFXGRAPH_TRY(mark(marks++, stream));
      }
    }
    return {};
  }

  Result<void> wait(hip::Stream stream) override {
    GFXGRAPH_TRY(instance_.library().wait_for(stream));
    instance_.collect_results();
    return {};
  }

  Result<bool> is_complete(hip::Stream stream) override {
    return instance_.library().is_idle(stream);
  }

  RunsInFlight& runs() override { return runs_; }

 private:
  // Waits for what stands before the mark before this one.
  Result<void> mark(uint32_t number, hip::Stream stream) {
    const HipTable& hip = instance_.hip();
    hip::Error code = hip.hipEventRecord(marks_[number % 2], stream);
    if (code == hip::kSuccess && number != 0)
      code = hip.hipEventSynchronize(marks_[(number + 1) % 2]);
    return instance_.library().check(code, "mark in a long batch");
  }

  Instance& instance_;
  StreamRuns runs_;
  uint32_t limit_;
  std::array<hip::Event, 2> marks_ = {};
};

}  // namespace

Result<std::unique_ptr<Executor>> make_batch_executor(Instance& instance,
                                                      const ExecutorOptions& options) {
  auto executor = std::make_unique<BatchExecutor>(instance, options);
  GFXGRAPH_TRY(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace gfxgraph::replayer
