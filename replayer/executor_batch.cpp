// Batch: every operation in recorded order on one stream. The order of the calls is an order in
// which all of them may run, so one stream satisfies every dependency between the recorded streams.
#include <fmt/format.h>

#include <algorithm>

#include "replayer/executor.h"

namespace gfxgraph::replayer {
namespace {

class BatchExecutor : public Executor {
 public:
  BatchExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))) {}

  Result<void> run(hip::Stream stream) override {
    const Program& program = instance_.program();
    const auto total = static_cast<uint32_t>(program.operations().size());
    for (const Segment& segment : program.segments()) {
      if (limit_ < total && segment.first_operation >= limit_) break;
      if (segment.host_write_count != 0) {
        GFXGRAPH_TRY(wait(stream));
        for (uint32_t i = 0; i < segment.host_write_count; ++i)
          instance_.apply_host_write(segment.first_host_write + i);
      }
      const uint32_t end = std::min(limit_, segment.first_operation + segment.operation_count);
      for (uint32_t i = segment.first_operation; i < end; ++i) {
        const hip::Error code = instance_.submit(i, stream);
        if (code != hip::kSuccess) [[unlikely]]
          return instance_.library().check(code, program.describe(i));
      }
    }
    return {};
  }

  Result<void> wait(hip::Stream stream) override { return instance_.library().wait_for(stream); }

  Result<bool> is_complete(hip::Stream stream) override {
    return instance_.library().is_idle(stream);
  }

 private:
  Instance& instance_;
  uint32_t limit_;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_batch_executor(Instance& instance,
                                                      const ExecutorOptions& options) {
  return std::unique_ptr<Executor>(std::make_unique<BatchExecutor>(instance, options));
}

Result<std::unique_ptr<Executor>> make_executor(Mode mode, Instance& instance,
                                                const ExecutorOptions& options) {
  switch (mode) {
    case Mode::kEager: return make_eager_executor(instance, options);
    case Mode::kBatch: return make_batch_executor(instance, options);
    case Mode::kGraph: return make_graph_executor(instance, options);
    case Mode::kAuto: break;
  }
  return fail(Status::kInternal, "an executor needs a mode that is not auto");
}

}  // namespace gfxgraph::replayer
