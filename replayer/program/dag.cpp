#include "replayer/program/dag.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "order/stream_order.h"
#include "replayer/abi/hip_abi.h"
#include "replayer/program/identity.h"

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

Result<void> check_edges(const Program& whole, const order::NeededEdges& edges) {
  if (identity_of(whole) == edges.trace && edges.work() == whole.operations().size()) return {};
  return fail(Status::kInvalidArgument,
              "the needed order is that of another trace, or of this one with other words taken as "
              "pointers: make it again from this trace (gfxgraph info TRACE --order -o FILE), and "
              "open that with GFXGRAPH_POINTERS_DEFAULT");
}

Dag needed_dag(const Program& program, const Dag& recorded, const order::NeededEdges& edges) {
  Dag dag;
  const uint32_t first = program.first_operation();
  dag.lanes = recorded.lanes;
  dag.edges_before_reduction = recorded.edges_before_reduction;
  dag.dependencies.resize(program.operations().size());
  for (size_t n = 0; n < dag.dependencies.size(); ++n) {
    for (const uint32_t earlier : edges.of(first + n)) {
      if (earlier >= first) dag.dependencies[n].push_back(earlier - first);
    }
    dag.edges += dag.dependencies[n].size();
  }
  return dag;
}

std::vector<bool> needed_barriers(std::span<const std::vector<uint32_t>> needs,
                                  std::span<const uint32_t> packet_of, uint32_t packets,
                                  std::span<const uint32_t> begins) {
  std::vector<bool> barriers(packets);
  for (const uint32_t one : begins) barriers[one] = true;
  std::vector<uint32_t> waits(packet_of.size());  // for packets before this number
  uint32_t last = 0;                              // the last one with the bit
  for (size_t i = 0; i < packet_of.size(); ++i) {
    for (const uint32_t earlier : needs[i]) {
      const uint32_t packet = packet_of[earlier];
      waits[i] = std::max(waits[i], packet == kNoPacket ? waits[earlier] : packet + 1);
    }
    const uint32_t packet = packet_of[i];
    if (packet == kNoPacket) continue;
    barriers[packet] = barriers[packet] || waits[i] > last;
    if (barriers[packet]) last = packet;
  }
  return barriers;
}

}  // namespace gfxgraph::replayer
