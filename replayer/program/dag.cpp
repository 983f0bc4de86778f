#include "replayer/program/dag.h"

#include <utility>
#include <variant>

#include "order/stream_order.h"
#include "replayer/abi/hip_abi.h"

namespace gfxgraph::replayer {

static_assert(order::kStreamNonBlocking == hip::kStreamNonBlocking);

namespace {

class DagBuilder {
 public:
  explicit DagBuilder(const Program& program) : program_(program) {
    for (format::StreamId id = 0; id < program.streams().size(); ++id) {
      const StreamInfo& stream = program.streams()[id];
      order_.add(
          id, {stream.device, stream.null_stream, (stream.flags & hip::kStreamNonBlocking) == 0});
    }
  }

  Dag build() {
    dag_.dependencies.reserve(program_.operations().size());
    for (const Call& call : program_.calls()) apply(call);
    dag_.lanes = order_.lanes();
    return std::move(dag_);
  }

 private:
  void add(order::StreamOrder::Issued issued) {
    dag_.edges_before_reduction += issued.unreduced;
    dag_.edges += issued.follows.size();
    dag_.dependencies.push_back(std::move(issued.follows));
  }

  void apply(const Call& call) {
    switch (call.kind) {
      case CallKind::kOperation: {
        add(order_.issue(call.stream));
        const Operation& operation = program_.operations()[call.first_operation];
        if (operation.blocking || operation.reaches_host) order_.tell_host(call.first_operation);
        break;
      }
      case CallKind::kGraphLaunch: apply_graph(call); break;
      case CallKind::kEventRecord: order_.record(call.event, call.stream); break;
      case CallKind::kStreamWait: order_.wait(call.stream, call.event); break;
      case CallKind::kSynchronize: order_.synchronize(call.synchronize, call.object); break;
      case CallKind::kHostFunction: {
        const format::HostFunctionId function = call.first_host_function;
        order_.host_function(call.stream, program_.awaited(function) ? function : 0);
        break;
      }
      case CallKind::kHostWrite:
        // The replay waits for all devices before it writes.
        order_.wait_devices();
        break;
    }
  }

  void apply_graph(const Call& call) {
    const std::vector<format::GraphNode>& nodes = program_.graph_of(call).nodes;
    order_.begin_graph(call.stream, nodes.size());
    format::HostFunctionId function = call.first_host_function;
    for (const format::GraphNode& node : nodes) {
      const bool calls = std::holds_alternative<format::HostFunction>(node.action);
      if (!calls && !std::holds_alternative<std::monostate>(node.action)) {
        add(order_.issue_node(node.dependencies));
        continue;
      }
      const order::Set& done = order_.pass_node(node.dependencies);
      if (calls && call.first_host_function != 0 && program_.awaited(function++))
        order_.ran(function - 1, done);
    }
    order_.end_graph();
    for (uint32_t i = 0; i < call.operation_count; ++i) {
      const uint32_t operation = call.first_operation + i;
      if (program_.operations()[operation].reaches_host) order_.tell_host(operation);
    }
  }

  const Program& program_;
  Dag dag_;
  order::StreamOrder order_;
};

}  // namespace

Dag build_dag(const Program& program) { return DagBuilder(program).build(); }

}  // namespace gfxgraph::replayer
