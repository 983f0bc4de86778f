// Graph: explicit hipGraphs from the dependencies of dag.h, or from those that a proof left
// (session/order_proof.h). One graph per stretch of operations between two host writes, split
// further by --graph-max-nodes, around operations that no node type can express, and around graphs
// that the program itself launched again (graph_parts.h); all are launched into one stream, so
// their order is kept. Stretches that are equal share one graph.
//
// Built by one thread, with explicit dependencies, counted afterwards: runtimes are known to drop
// nodes silently. Never captured (HIP 5.2 executes module launches instead of capturing them).
//
// Changed values are set in the executable graph if a trial has shown that the runtime supports it
// (graph_updates.h); otherwise the graph that contains the node is rebuilt. Launches whose
// arguments change often get memory of the library for them (graph_arguments.h).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "base/amount.h"
#include "replayer/abi/graph_updates.h"
#include "replayer/modes/graph_arguments.h"
#include "replayer/modes/graph_nodes.h"
#include "replayer/modes/graph_parts.h"
#include "replayer/program/dag.h"
#include "replayer/session/executor.h"

namespace gfxgraph::replayer {
namespace {

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

// Updates leak in some runtimes, most of it until the executable graph is destroyed: 128 to 480
// bytes each in HIP 6.4. After this many updates a graph is rebuilt, the next time its completion
// is awaited.
constexpr uint64_t kUpdatesOfOneGraph = 100'000;

// After this many changes a launch's arguments get memory of the library, the next time completion
// is awaited: its graph is built again once, and later changes call nothing.
constexpr uint8_t kChangesInNode = 16;

// One thing to do in a run, in order.
struct GraphPart {
  HostPart host;  // acts first, after a wait
  uint32_t first_operation = 0;
  uint32_t operation_count = 0;  // 0: only host writes
  bool direct = false;           // submitted to the stream, not in a graph
  bool in_graph() const { return !direct && operation_count != 0; }
  uint32_t same = 0;  // the first part with equal operations, which has the graph of all; or itself
  uint32_t shared = 1;  // of the first one: parts that launch its graph
  hip::Graph graph = nullptr;
  hip::GraphExec executable = nullptr;
  bool stale = false;  // must be rebuilt before the next run
  uint64_t updates = 0;
  uint64_t nodes = 0;
  uint64_t edges = 0;
};

// For each operation of a part, the operations of the part that it must wait for, by their numbers
// in the part; empty operations pass on their dependencies. In one array: there may be thousands.
struct Waits {
  std::vector<uint32_t> all;
  std::vector<size_t> ends = {0};
  std::span<const uint32_t> operator[](uint32_t i) const {
    return std::span(all).subspan(ends[i], ends[i + 1] - ends[i]);
  }
  void add(const std::vector<uint32_t>& wait) {
    all.insert(all.end(), wait.begin(), wait.end());
    ends.push_back(all.size());
  }
};

class GraphExecutor : public Executor {
 public:
  GraphExecutor(Instance& instance, const ExecutorOptions& options)
      : instance_(instance),
        runs_(instance.library()),
        options_(options),
        limit_(std::min(options.operation_limit,
                        static_cast<uint32_t>(instance.program().operations().size()))) {}

  ~GraphExecutor() override {
    for (GraphPart& part : parts_) destroy(part);
  }

  [[gnu::cold]] Result<void> prepare() {
    if (!instance_.library().has_graphs()) {
      return fail(Status::kUnsupported, fmt::format("{} has no explicit graphs: use --mode batch",
                                                    instance_.library().path()));
    }
    if (instance_.library().avoids(HipQuirk::kModuleFunctionLostInGraph)) {
      return fail(Status::kUnsupported, fmt::format("graph mode on HIP {}: hipGraphAddKernelNode "
                                                    "does not take module functions there; use "
                                                    "--mode batch",
                                                    instance_.library().runtime_version()));
    }
    order_.emplace(instance_, options_.graph_linear
                                  ? "every graph is a chain in recorded order (--graph-linear)"
                                  : nullptr);
    if (options_.values_change) {
      updates_ =
          instance_.library().update_trials().find(instance_.library(), instance_.device().arch);
      apart_ = GraphArguments::open(instance_, runs_);
    }
    adder_.prepare(apart_.get());
    split();
    nodes_.resize(instance_.program().operations().size());
    states_.resize(nodes_.size());
    changed_.reserve(nodes_.size());
    often_.reserve(nodes_.size());
    statistics_.edges_before_reduction = order_->recorded().edges_before_reduction;
    for (GraphPart& part : parts_) {
      part.stale = part.in_graph();
      statistics_.launches += part.in_graph();
    }
    find_shared();
    return build_stale();
  }

  Result<void> run(hip::Stream stream) override {
    runs_.begin(stream);
    for (const GraphPart& part : parts_) {
      if (part.host.any()) {
        GFXGRAPH_TRY(wait(stream));
        GFXGRAPH_TRY(instance_.host_acts(part.host));
      }
      if (part.operation_count == 0) continue;
      const hip::Error code = part.direct ? instance_.submit(part.first_operation, stream)
                                          : launch(parts_[part.same].executable, stream);
      if (code != hip::kSuccess) [[unlikely]] {
        if (part.direct) return instance_.failure(code, part.first_operation);
        return instance_.library().check(
            code, fmt::format("hipGraphLaunch of {} operations from {}", part.operation_count,
                              instance_.program().describe(part.first_operation)));
      }
    }
    return {};
  }

  Result<void> wait(hip::Stream stream) override {
    GFXGRAPH_TRY(instance_.library().wait_for(stream));
    instance_.collect_results();
    if (many_updates_ || !often_.empty()) [[unlikely]]
      return shed_updates();
    return {};
  }

  Result<bool> is_complete(hip::Stream stream) override {
    return instance_.library().is_idle(stream);
  }

  void changed(uint32_t operation) noexcept override { note(operation, kEverything); }
  void arguments_changed(uint32_t operation) noexcept override { note(operation, kArguments); }

  Result<void> apply_changes() override {
    if (changed_.empty() && !any_stale_) [[likely]]
      return {};
    for (const uint32_t operation : changed_) {
      if (order_->keeps(operation)) [[likely]]
        continue;
      // All are built again, in recorded order.
      for (GraphPart& part : parts_) part.stale |= part.in_graph();
      for (SharedGraph* const one : in_) one->stale = true;
      any_stale_ = true;
      break;
    }
    for (size_t n = 0; n < changed_.size(); ++n) {
      if (Result<void> applied = apply(changed_[n]); !applied) {
        changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(n));
        return applied;
      }
      states_[changed_[n]].change = kUnchanged;
    }
    changed_.clear();
    if (!any_stale_) [[likely]]
      return {};
    return rebuild_stale();
  }

  [[gnu::cold]] Result<void> add_to(hip::Graph graph, std::vector<hip::GraphNode>& before,
                                    size_t& count, SharedGraph& shared) override {
    for (const GraphPart& part : parts_) {
      if (part.host.any()) {
        return fail(Status::kUnsupported,
                    "the host acts between its work, which no node of a graph does");
      }
    }
    for (uint32_t i = 0; i < limit_; ++i) {
      const char* const reason = adder_.reason_outside(i);
      if (reason == nullptr) continue;
      return fail(Status::kUnsupported,
                  fmt::format("{}: {}", instance_.program().describe(i), reason));
    }
    GraphPart whole;
    whole.operation_count = limit_;
    shared.nodes.resize(limit_);
    const uint64_t edges = statistics_.edges;
    const Result<void> added = add_part(whole, graph, before, count, shared.nodes);
    statistics_.edges = edges;  // of its own graphs only
    GFXGRAPH_TRY(added);
    if (std::ranges::find(in_, &shared) == in_.end()) in_.push_back(&shared);
    return {};
  }
  void forget(const SharedGraph& shared) noexcept override { std::erase(in_, &shared); }

  RunsInFlight& runs() override { return runs_; }
  GraphStatistics graph_statistics() const override { return statistics_; }
  OrderUse order_use() const override { return order_->use(); }

 private:
  struct State {
    Change change = kUnchanged;
    uint8_t changes_in_node = 0;  // of a launch's arguments, up to kChangesInNode
    bool apart = false;           // its arguments are in memory of the library
  };

  hip::Error launch(hip::GraphExec executable, hip::Stream stream) {
    const auto lock = instance_.session().launch_lock().in_graph();
    return instance_.hip().hipGraphLaunch(executable, stream);
  }

  void note(uint32_t operation, Change change) noexcept {
    if (operation >= limit_) return;
    State& state = states_[operation];
    if (state.change == kUnchanged) changed_.push_back(operation);  // reserved
    state.change = std::max(state.change, change);
  }

  Result<void> apply(uint32_t operation) {
    GraphPart& part = part_of(operation);
    State& state = states_[operation];
    if (state.apart) {
      GFXGRAPH_ASSIGN_OR_RETURN(const GraphArguments::Written written,
                                apart_->write(instance_.operation(operation).index));
      const bool shared = parts_[part.same].shared != 1;
      if (written == GraphArguments::Written::kInPlace && state.change == kArguments && !shared)
          [[likely]]
        return {};
    }
    for (SharedGraph* const one : in_) {
      one->stale = one->stale || !set_node(one->executable, one->nodes[operation], operation);
    }
    if (!part.in_graph()) return {};  // direct ones read their values on submission
    if (part.stale) return {};
    if (parts_[part.same].shared == 1 && update(part, operation)) {
      count_change(operation, state);
      return {};
    }
    // Launches of the same graph may now do something different.
    for (GraphPart& other : parts_) other.stale |= other.in_graph() && other.same == part.same;
    any_stale_ = true;
    return {};
  }

  void count_change(uint32_t operation, State& state) {
    if (!apart_ || state.apart || state.changes_in_node == kChangesInNode ||
        instance_.operation(operation).kind != OperationKind::kLaunch)
      return;
    if (++state.changes_in_node == kChangesInNode) often_.push_back(operation);  // reserved
  }

  // All runs have ended.
  void take_apart() {
    for (const uint32_t operation : often_) {
      State& state = states_[operation];
      state.apart = apart_->take(instance_.operation(operation).index);
      if (!state.apart) continue;
      part_of(operation).stale = any_stale_ = true;
      ++statistics_.launches_apart;
    }
    for (SharedGraph* const one : in_) one->stale = true;
    often_.clear();
  }

  [[gnu::cold]] void split() {
    const Program& program = instance_.program();
    const auto total = static_cast<uint32_t>(program.operations().size());
    const uint32_t max_nodes =
        options_.graph_max_nodes == 0 ? kMaxGraphNodes : options_.graph_max_nodes;
    // By the recorded order, so that graphs which the program launched again stay whole; these
    // parts follow each other in the stream.
    const Dag& recorded = order_->recorded();
    const std::vector<Stretch> again = find_launched_again(instance_, recorded);
    for (const Segment& segment : program.segments()) {
      if (limit_ < total && segment.first_operation >= limit_) break;
      GraphPart part{segment.host};
      const auto add = [&](uint32_t first, uint32_t count, bool direct) {
        part.first_operation = first;
        part.operation_count = count;
        part.direct = direct;
        parts_.push_back(part);
        part = GraphPart{};
      };
      const uint32_t end = std::min(limit_, segment.first_operation + segment.operation_count);
      uint32_t begin = segment.first_operation;
      const auto add_graphs = [&](uint32_t to) {
        for (const Stretch& one : divide(instance_, recorded, again, begin, to, max_nodes))
          add(one.first, one.count, one.between);
      };
      for (uint32_t i = begin; i < end; ++i) {
        const char* const reason = adder_.reason_outside(i);
        if (reason == nullptr) continue;
        add_graphs(i);
        add(i, 1, true);
        begin = i + 1;
        statistics_.outside.push_back(fmt::format("{}: {}", program.describe(i), reason));
      }
      add_graphs(end);
      if (part.host.any()) add(end, 0, false);
    }
  }

  // Finds equal parts among those whose graphs must be built.
  [[gnu::cold]] void find_shared() {
    std::vector<uint32_t> stale;
    std::vector<Stretch> stretches;
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].stale) continue;
      stale.push_back(i);
      stretches.push_back({parts_[i].first_operation, parts_[i].operation_count, false});
    }
    const std::vector<uint32_t> equal = find_equal(instance_, order_->dag(), stretches);
    for (size_t n = 0; n < stale.size(); ++n) parts_[stale[n]].shared = 0;
    for (size_t n = 0; n < stale.size(); ++n) {
      parts_[stale[n]].same = stale[equal[n]];
      ++parts_[stale[equal[n]]].shared;
    }
  }

  GraphPart& part_of(uint32_t operation) {
    const auto behind =
        std::ranges::upper_bound(parts_, operation, {}, &GraphPart::first_operation);
    GraphPart* part = &*std::prev(behind);
    while (part->operation_count == 0) --part;  // skips parts with only host writes
    return *part;
  }

  // Updates in place; returns false if that is impossible.
  bool update(GraphPart& part, uint32_t index) {
    if (!set_node(part.executable, nodes_[index], index)) return false;
    ++statistics_.nodes_updated;
    if (++part.updates >= kUpdatesOfOneGraph) many_updates_ = true;
    if (part.updates >= 2 * kUpdatesOfOneGraph) return false;  // nothing has waited for it
    return true;
  }

  bool set_node(hip::GraphExec executable, hip::GraphNode node, uint32_t index) {
    const PreparedOperation& operation = instance_.operation(index);
    // It consists of several nodes, or of none.
    if (operation.empty || node == nullptr) return false;
    const HipTable& hip = instance_.hip();
    hip::Error code = hip::kSuccess;
    switch (operation.kind) {
      case OperationKind::kLaunch: {
        if (!updates_.kernels) return false;
        const hip::KernelNodeParams parameters = adder_.parameters_of_launch(operation.index);
        const auto lock = instance_.session().launch_lock().in_graph();
        code = hip.hipGraphExecKernelNodeSetParams(executable, node, &parameters);
        break;
      }
      case OperationKind::kCopy: {
        const PreparedCopy& copy = instance_.copy(operation.index);
        if (!updates_.copies || !copy.linear()) return false;
        code = hip.hipGraphExecMemcpyNodeSetParams1D(executable, node, copy.destination,
                                                     copy.source, copy.width, copy.kind);
        break;
      }
      case OperationKind::kMemset: {
        const PreparedMemset& memset = instance_.memset(operation.index);
        if (!updates_.memsets || adder_.by_copies() || memset.small_row != nullptr) return false;
        const hip::MemsetParams parameters = GraphNodes::parameters_of(memset);
        code = hip.hipGraphExecMemsetNodeSetParams(executable, node, &parameters);
        break;
      }
    }
    if (code == hip::kSuccess) [[likely]]
      return true;
    hip.hipGetLastError();
    return false;
  }

  // Graphs in flight must not be destroyed.
  // Waits for its own runs only: other steps of the session may run on other threads.
  [[gnu::cold]] Result<void> rebuild_stale() {
    if (runs_.last() != 0) GFXGRAPH_TRY(instance_.library().wait_for(runs_.stream()));
    for (GraphPart& part : parts_) {
      if (!part.stale) continue;
      if (part.executable != nullptr) ++statistics_.graphs_rebuilt;
      destroy(part);
    }
    find_shared();
    return build_stale();
  }

  [[gnu::cold]] Result<void> shed_updates() {
    take_apart();
    for (GraphPart& part : parts_) {
      if (part.updates >= kUpdatesOfOneGraph) part.stale = any_stale_ = true;
    }
    many_updates_ = false;
    return any_stale_ ? rebuild_stale() : Result<void>();
  }

  [[gnu::cold]] Result<void> build_stale() {
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      GraphPart& part = parts_[i];
      if (!part.stale) continue;
      if (part.same == i) GFXGRAPH_TRY(build_graph(part));
      part.stale = false;
    }
    any_stale_ = false;
    return {};
  }

  [[gnu::cold]] Result<void> build_graph(GraphPart& part) {
    const HipLibrary& library = instance_.library();
    const auto start = std::chrono::steady_clock::now();
    const uint64_t edges_before = statistics_.edges;
    const auto lock = instance_.session().launch_lock().in_graph();
    destroy(part);
    GFXGRAPH_TRY(library.check(instance_.hip().hipGraphCreate(&part.graph, 0), "hipGraphCreate"));
    size_t expected = 0;
    std::vector<hip::GraphNode> ends;
    GFXGRAPH_TRY(add_part(part, part.graph, ends, expected, nodes_));
    size_t count = 0;
    GFXGRAPH_TRY(library.check(instance_.hip().hipGraphGetNodes(part.graph, nullptr, &count),
                               "hipGraphGetNodes"));
    if (count != expected) {
      return fail(
          Status::kDevice,
          fmt::format("the runtime's graph has {} instead of {}: it dropped some; use --mode batch "
                      "or --graph-max-nodes",
                      counted(count, "node"), expected));
    }
    statistics_.build_us += microseconds_since(start);
    const auto instantiate = std::chrono::steady_clock::now();
    GFXGRAPH_TRY(library.check(
        instance_.hip().hipGraphInstantiate(&part.executable, part.graph, nullptr, nullptr, 0),
        "hipGraphInstantiate of " + counted(expected, "node")));
    statistics_.instantiate_us += microseconds_since(instantiate);
    ++statistics_.graphs;
    statistics_.nodes += expected;
    part.nodes = expected;
    part.edges = statistics_.edges - edges_before;
    return {};
  }

  // The part's nodes, behind `before`, which the last ones become.
  [[gnu::cold]] Result<void> add_part(const GraphPart& part, hip::Graph graph,
                                      std::vector<hip::GraphNode>& before, size_t& expected,
                                      std::vector<hip::GraphNode>& nodes) {
    const HipLibrary& library = instance_.library();
    const Waits waits = predecessors(part);
    std::vector<uint32_t> followers(part.operation_count);
    for (const uint32_t one : waits.all) ++followers[one];
    const bool loses_edges = library.avoids(HipQuirk::kGraphEdgeLost);
    std::vector<hip::GraphNode> ends(part.operation_count);  // the last node of each operation
    std::vector<hip::GraphNode> root = before;               // that all others follow
    // Several of them would begin too early.
    if (root.empty() && library.avoids(HipQuirk::kRootsBeginEarly) &&
        has_several_roots(part, waits)) {
      GFXGRAPH_TRY(adder_.add_empty_node(graph, root, expected));
    }
    std::vector<hip::GraphNode> last, dependencies, joint;
    for (uint32_t i = 0; i < part.operation_count; ++i) {
      GFXGRAPH_TRY(instance_.session().deadline().check("building the graphs"));
      nodes[part.first_operation + i] = nullptr;
      if (ends_nothing(part, i)) continue;
      dependencies.clear();
      if (waits[i].empty()) dependencies = root;
      for (const uint32_t earlier : waits[i]) {
        hip::GraphNode end = ends[earlier];
        if (loses_edges && waits[i].size() > 1 && followers[earlier] > 1) {
          joint.assign(1, end);
          GFXGRAPH_TRY(adder_.add_empty_node(graph, joint, expected));
          end = joint.front();
        }
        dependencies.push_back(end);
      }
      GFXGRAPH_TRY(adder_.add_turnovers(graph, part.first_operation + i, dependencies, expected));
      const size_t nodes_before = expected;
      GFXGRAPH_TRY(adder_.add_nodes(graph, part.first_operation + i, dependencies, expected));
      ends[i] = dependencies.front();
      nodes[part.first_operation + i] = expected == nodes_before + 1 ? ends[i] : nullptr;
      if (followers[i] == 0) last.push_back(ends[i]);
    }
    if (!last.empty()) before = std::move(last);
    return {};
  }

  bool has_several_roots(const GraphPart& part, const Waits& waits) const {
    uint32_t roots = 0;
    for (uint32_t i = 0; i < part.operation_count && roots < 2; ++i) {
      if (waits[i].empty() && !ends_nothing(part, i)) ++roots;
    }
    return roots > 1;
  }

  bool ends_nothing(const GraphPart& part, uint32_t i) const {
    const PreparedOperation& operation = instance_.operation(part.first_operation + i);
    return operation.empty && !operation.turns;
  }

  Waits predecessors(const GraphPart& part) const {
    Waits waits;
    waits.ends.reserve(part.operation_count + 1);
    waits.all.reserve(part.operation_count);
    std::vector<uint32_t> wait;
    std::optional<uint32_t> previous;
    for (uint32_t i = 0; i < part.operation_count; ++i, waits.add(wait)) {
      wait.clear();
      if (options_.graph_linear) {
        if (previous) wait.push_back(*previous);
        if (!ends_nothing(part, i)) previous = i;
        continue;
      }
      for (const uint32_t dependency : order_->dag().dependencies[part.first_operation + i]) {
        if (dependency < part.first_operation) continue;  // the stream orders it
        const uint32_t before = dependency - part.first_operation;
        if (ends_nothing(part, before)) {
          wait.insert(wait.end(), waits[before].begin(), waits[before].end());
        } else {
          wait.push_back(before);
        }
      }
      std::sort(wait.begin(), wait.end());
      wait.erase(std::unique(wait.begin(), wait.end()), wait.end());
    }
    return waits;
  }

  void destroy(GraphPart& part) {
    if (part.executable != nullptr) {
      instance_.hip().hipGraphExecDestroy(part.executable);
      --statistics_.graphs;
    }
    if (part.graph != nullptr) instance_.hip().hipGraphDestroy(part.graph);
    part.executable = nullptr;
    part.graph = nullptr;
    statistics_.nodes -= std::exchange(part.nodes, 0);
    statistics_.edges -= std::exchange(part.edges, 0);
    part.updates = 0;
  }

  Instance& instance_;
  StreamRuns runs_;
  ExecutorOptions options_;
  uint32_t limit_;
  std::optional<OrderInUse> order_;  // from prepare() on
  std::vector<GraphPart> parts_;
  std::vector<SharedGraph*> in_;  // of compositions
  GraphStatistics statistics_;
  GraphNodes adder_{instance_, statistics_.edges};
  GraphUpdates updates_;
  std::vector<hip::GraphNode> nodes_;  // of each operation that is a single one
  std::vector<State> states_;          // by operation
  std::vector<uint32_t> changed_;
  std::vector<uint32_t> often_;  // operations whose arguments are to get memory of the library
  std::unique_ptr<GraphArguments> apart_;  // null: not on this runtime
  bool any_stale_ = false;
  bool many_updates_ = false;
};

}  // namespace

Result<std::unique_ptr<Executor>> make_graph_executor(Instance& instance,
                                                      const ExecutorOptions& options) {
  auto executor = std::make_unique<GraphExecutor>(instance, options);
  GFXGRAPH_TRY(executor->prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace gfxgraph::replayer
