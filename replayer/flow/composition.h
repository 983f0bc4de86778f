// Steps as one graph, or in order (gfxgraph_composition_t).
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gfxgraph/flow.h"
#include "replayer/flow/flow_device.h"
#include "replayer/production/measure/stopwatch.h"
#include "replayer/production/ways/work_counts.h"
#include "replayer/program/range.h"
#include "replayer/step/step.h"

namespace gfxgraph::replayer {

// Thread-safe but for create().
class Composition {
 public:
  explicit Composition(std::shared_ptr<const FlowDevice> device)
      : device_(std::move(device)), order_(device_->library()) {}
  // Waits for its runs.
  ~Composition();
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;
  Result<void> create(const gfxgraph_composition_options_t& options);

  // On the device, as all that calls HIP.
  Result<void> run(hip::Stream stream, uint32_t& one_graph);

  const FlowDevice& device() const { return *device_; }
  const std::string& name() const { return name_; }
  // Without latencies.
  void add_up(gfxgraph_composition_info_t& info, Durations& submit) const;
  // Why it is not one graph.
  std::string reason() const;

 private:
  struct Part {
    std::shared_ptr<const Range> range;
    std::shared_ptr<Step> step;
    uint32_t stage = 0;
    bool advances = false;
    SharedGraph nodes;  // in the graph
  };

  tl::unexpected<Error> wrong(size_t part, Status status, const std::string& what) const;
  Result<void> check_parts() const;
  Result<void> build();
  Result<void> add_stage(hip::Graph graph, size_t first, size_t end,
                         std::vector<hip::GraphNode>& before, size_t& count);
  Result<void> add_parts(hip::Graph graph, size_t& count);
  Result<void> advance();
  Result<void> submit(hip::Stream stream);
  Result<bool> make_ready();
  Result<void> run_steps();
  Result<void> launch(hip::Stream stream);
  void fall(std::string why);
  void destroy_graph() noexcept;

  std::shared_ptr<const FlowDevice> device_;
  std::string name_;
  std::deque<Part> parts_;           // steps hold the address of their nodes
  std::vector<SessionStep*> steps_;  // each once
  bool must_be_graph_ = false;
  std::mutex mutex_;
  StreamOrder order_;
  hip::Graph graph_ = nullptr;
  hip::GraphExec executable_ = nullptr;
  uint64_t advanced_ = 0;
  std::atomic<bool> is_graph_ = false;
  std::atomic<uint64_t> nodes_ = 0;
  mutable std::mutex reason_mutex_;
  std::string reason_;
  struct Counts {
    Count graph_runs{0}, ordered_runs{0}, failures{0}, builds{0};
    Histogram submit;
  } counts_;
};

}  // namespace gfxgraph::replayer
