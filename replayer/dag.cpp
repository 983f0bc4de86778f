#include "replayer/dag.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "replayer/hip_abi.h"

namespace gfxgraph::replayer {

namespace {

using OperationSet = std::vector<uint32_t>;

class DagBuilder {
 public:
  explicit DagBuilder(const Program& program)
      : program_(program), tails_(program.streams().size()), captured_(program.events().size()) {}

  Dag build() {
    dag_.dependencies.reserve(program_.operations().size());
    for (const Call& call : program_.calls()) apply(call);
    dag_.lanes = reach_.lanes();
    return std::move(dag_);
  }

 private:
  bool blocking(format::StreamId stream) const {
    return !program_.is_null_stream(stream) &&
           (program_.streams()[stream].flags & hip::kStreamNonBlocking) == 0;
  }

  static constexpr format::DeviceNumber kEveryDevice = UINT32_MAX;

  void unite(OperationSet& set, const OperationSet& other) const {
    set.insert(set.end(), other.begin(), other.end());
    reach_.minimise(set);
  }

  // What work issued to the stream now follows.
  OperationSet front(format::StreamId stream) const {
    OperationSet set = host_;
    set.insert(set.end(), tails_[stream].begin(), tails_[stream].end());
    const format::StreamId null_stream = program_.streams()[stream].null_stream;
    if (stream == null_stream) {
      for (format::StreamId other = 1; other < tails_.size(); ++other) {
        if (blocking(other) && program_.streams()[other].null_stream == null_stream)
          set.insert(set.end(), tails_[other].begin(), tails_[other].end());
      }
    } else if (blocking(stream)) {
      set.insert(set.end(), tails_[null_stream].begin(), tails_[null_stream].end());
    }
    reach_.minimise(set);
    return set;
  }

  void issue(OperationSet dependencies) {
    dag_.edges_before_reduction += dependencies.size();
    reach_.add(dependencies);
    dag_.edges += dependencies.size();
    dag_.dependencies.push_back(std::move(dependencies));
  }

  void apply(const Call& call) {
    switch (call.kind) {
      case CallKind::kOperation:
        issue(front(call.stream));
        tails_[call.stream] = {call.first_operation};
        if (program_.operations()[call.first_operation].blocking ||
            program_.operations()[call.first_operation].reaches_host) {
          unite(host_, {call.first_operation});
        }
        break;
      case CallKind::kGraphLaunch: apply_graph(call); break;
      case CallKind::kEventRecord:
        // On the null stream a record is ordinary work: later work of blocking streams waits for
        // it.
        captured_[call.event] = front(call.stream);
        if (program_.is_null_stream(call.stream)) tails_[call.stream] = captured_[call.event];
        break;
      case CallKind::kStreamWait:
        if (program_.is_null_stream(call.stream)) tails_[call.stream] = front(call.stream);
        unite(tails_[call.stream], captured_[call.event]);
        break;
      case CallKind::kSynchronize: apply_synchronize(call); break;
      case CallKind::kHostFunction:
        if (program_.awaited(call.first_host_function)) {
          ran_[call.first_host_function] = front(call.stream);
        }
        // Like an event record: on the null stream it joins the blocking streams.
        if (program_.is_null_stream(call.stream)) tails_[call.stream] = front(call.stream);
        break;
      case CallKind::kHostWrite:
        // The replay waits for all devices before it writes.
        wait_devices(kEveryDevice);
        break;
    }
  }

  void wait_devices(format::DeviceNumber device) {
    for (format::StreamId stream = 0; stream < tails_.size(); ++stream) {
      if (device != kEveryDevice && program_.streams()[stream].device != device) continue;
      OperationSet& tail = tails_[stream];
      host_.insert(host_.end(), tail.begin(), tail.end());
      tail.clear();
    }
    reach_.minimise(host_);
  }

  void apply_synchronize(const Call& call) {
    switch (call.synchronize) {
      case format::SynchronizeKind::kDevice: wait_devices(call.object); break;
      case format::SynchronizeKind::kStream: host_ = front(call.object); break;
      case format::SynchronizeKind::kStreamItself: unite(host_, tails_[call.object]); break;
      case format::SynchronizeKind::kEvent: unite(host_, captured_[call.object]); break;
      case format::SynchronizeKind::kHostFunction:
        if (const auto ran = ran_.find(call.object); ran != ran_.end()) unite(host_, ran->second);
        break;
    }
  }

  void apply_graph(const Call& call) {
    const std::vector<format::GraphNode>& nodes = program_.graph_of(call).nodes;
    const OperationSet before = front(call.stream);
    std::vector<OperationSet> after(nodes.size());  // what a node's followers wait for
    std::vector<bool> has_follower(nodes.size(), false);
    uint32_t operation = call.first_operation;
    uint32_t function = call.first_host_function;
    for (size_t node = 0; node < nodes.size(); ++node) {
      const format::GraphNode& description = nodes[node];
      OperationSet dependencies = description.dependencies.empty() ? before : OperationSet{};
      for (const uint32_t dependency : description.dependencies) {
        unite(dependencies, after[dependency]);
        has_follower[dependency] = true;
      }
      const bool acts = !std::holds_alternative<std::monostate>(description.action) &&
                        !std::holds_alternative<format::HostFunction>(description.action);
      if (acts) {
        issue(std::move(dependencies));
        after[node] = {operation++};
      } else {
        const bool runs = std::holds_alternative<format::HostFunction>(description.action);
        if (runs && call.first_host_function != 0 && program_.awaited(function++)) {
          ran_[function - 1] = dependencies;
        }
        after[node] = std::move(dependencies);
      }
    }
    OperationSet leaves = nodes.empty() ? before : OperationSet{};
    for (size_t node = 0; node < after.size(); ++node) {
      if (!has_follower[node]) leaves.insert(leaves.end(), after[node].begin(), after[node].end());
    }
    reach_.minimise(leaves);
    tails_[call.stream] = std::move(leaves);
    for (uint32_t i = 0; i < call.operation_count; ++i) {
      const uint32_t index = call.first_operation + i;
      if (program_.operations()[index].reaches_host) unite(host_, {index});
    }
  }

  const Program& program_;
  Dag dag_;
  Reachability reach_;
  std::vector<OperationSet> tails_;                 // by stream: the last work issued to it
  std::vector<OperationSet> captured_;              // by event: the work it represents
  OperationSet host_;                               // the work the host has seen complete
  std::unordered_map<uint32_t, OperationSet> ran_;  // by host function: what was done by then
};

}  // namespace

Dag build_dag(const Program& program) { return DagBuilder(program).build(); }

}  // namespace gfxgraph::replayer
