// The four modes of a loaded program. An executor borrows the instance, which must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/memory/runs_in_flight.h"
#include "replayer/session/instance.h"
#include "replayer/session/order_proof.h"

namespace gfxgraph::replayer {

// A step's nodes in a graph that others share (flow/composition.h), by operation.
struct SharedGraph {
  hip::GraphExec executable = nullptr;  // null: not built yet
  std::vector<hip::GraphNode> nodes;    // null: none, or several
  bool stale = true;                    // must be built again before its next launch
};

struct GraphStatistics {
  uint32_t graphs = 0;
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint64_t edges_before_reduction = 0;
  uint64_t launches = 0;  // of these graphs, in one run
  double build_us = 0;    // adding the nodes
  double instantiate_us = 0;
  uint64_t nodes_updated = 0;   // in place
  uint64_t launches_apart = 0;  // whose arguments are in memory of the library (graph_arguments.h)
  uint64_t graphs_rebuilt = 0;
  // Operations that run between the graphs, and why: "launch 3 kernel x: cooperative".
  std::vector<std::string> outside;
};

// What of a prepared operation has changed.
enum Change : uint8_t { kUnchanged, kArguments, kEverything };

class Executor {
 public:
  virtual ~Executor() = default;
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Submits the program. Batch and graph work goes to `stream` and may be in flight on return; if
  // the trace holds host writes, the call waits for the work before them. Allocates nothing unless
  // it fails.
  virtual Result<void> run(hip::Stream stream) = 0;
  // Mode packets: without fences, ordered neither after earlier nor before later work of `stream`.
  virtual Result<void> run_unfenced(hip::Stream stream) { return run(stream); }
  // Waits for the work that run() submitted.
  virtual Result<void> wait(hip::Stream stream) = 0;
  // Whether it is complete, together with all other work on its streams. Thread-safe.
  virtual Result<bool> is_complete(hip::Stream stream) = 0;
  // Values of this operation have changed: the next apply_changes() makes later runs use them.
  // Allocates nothing.
  virtual void changed(uint32_t operation) noexcept { (void)operation; }
  // The same where nothing has but bytes of a launch's arguments.
  virtual void arguments_changed(uint32_t operation) noexcept { changed(operation); }
  // Runs in flight keep the values that they were submitted with.
  virtual Result<void> apply_changes() { return {}; }
  // What run() has submitted. Eager mode counts none: a step waits before it changes a value.
  virtual RunsInFlight& runs() = 0;
  virtual GraphStatistics graph_statistics() const { return {}; }
  virtual OrderUse order_use() const { return {}; }

  // Adds the nodes of the whole program to `graph`, behind `before` (empty: where it begins), and
  // counts them; the last ones become `before`. From then on changes are made in `shared`, too,
  // once it is executable, until forget(). kUnsupported, naming why: one graph cannot hold it.
  virtual Result<void> add_to(hip::Graph graph, std::vector<hip::GraphNode>& before, size_t& count,
                              SharedGraph& shared) {
    (void)graph, (void)before, (void)count, (void)shared;
    return fail(Status::kUnsupported, "its step is not of mode graph");
  }
  virtual void forget(const SharedGraph& shared) noexcept { (void)shared; }
};

// Waits at the end of its scope, if something failed before wait() returned.
class Completion {
 public:
  Completion(Executor& executor, hip::Stream stream) : executor_(executor), stream_(stream) {}
  ~Completion() {
    if (complete_) return;
    try {
      (void)executor_.wait(stream_);
    } catch (...) {  // no memory for an error's text
    }
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  Result<void> wait() {
    Result<void> done = executor_.wait(stream_);
    complete_ = done.has_value();
    return done;
  }

 private:
  Executor& executor_;
  hip::Stream stream_;
  bool complete_ = false;
};

struct ExecutorOptions {
  // Run only the operations before this one, and the host writes before the last of them.
  uint32_t operation_limit = UINT32_MAX;
  uint32_t graph_max_nodes = 0;
  bool graph_linear = false;
  bool values_change = true;  // as StepOptions
};

Result<std::unique_ptr<Executor>> make_eager_executor(Instance& instance,
                                                      const ExecutorOptions& options);
Result<std::unique_ptr<Executor>> make_batch_executor(Instance& instance,
                                                      const ExecutorOptions& options);
Result<std::unique_ptr<Executor>> make_graph_executor(Instance& instance,
                                                      const ExecutorOptions& options);
// kUnsupported: something in the program, or this runtime, does not allow it; the message has the
// reason.
Result<std::unique_ptr<Executor>> make_packet_executor(Instance& instance,
                                                       const ExecutorOptions& options);
// `mode` is not kAuto.
Result<std::unique_ptr<Executor>> make_executor(Mode mode, Instance& instance,
                                                const ExecutorOptions& options);

}  // namespace gfxgraph::replayer
