#include "replayer/session/executor.h"

namespace gfxgraph::replayer {

Result<std::unique_ptr<Executor>> make_executor(Mode mode, Instance& instance,
                                                const ExecutorOptions& options) {
  switch (mode) {
    case Mode::kEager: return make_eager_executor(instance, options);
    case Mode::kBatch: return make_batch_executor(instance, options);
    case Mode::kGraph: return make_graph_executor(instance, options);
    case Mode::kPackets: return make_packet_executor(instance, options);
    case Mode::kAuto: break;
  }
  return fail(Status::kInternal, "an executor needs a mode that is not auto");
}

}  // namespace gfxgraph::replayer
