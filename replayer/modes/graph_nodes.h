// Adds the nodes of a program's operations to graphs, and says what its nodes get when their values
// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.h"
#include "replayer/memory/pattern_buffers.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

class GraphArguments;

// Not thread-safe. Borrows the instance and, where launches have their arguments apart, those.
class GraphNodes {
 public:
  GraphNodes(Instance& instance, uint64_t& edges) : instance_(instance), edges_(edges) {}
  GraphNodes(const GraphNodes&) = delete;
  GraphNodes& operator=(const GraphNodes&) = delete;

  void prepare(GraphArguments* apart);

  // Why an operation cannot be a node: a text that lives forever. Null: it can.
  const char* reason_outside(uint32_t index) const;
  // Memsets are nodes of copies on this runtime.
  bool by_copies() const;

  // These add nodes behind `dependencies`, which becomes the last of them, and count them in
  // `count`. Between `dependencies`, one node, and what follows it.
  Result<void> add_empty_node(hip::Graph graph, std::vector<hip::GraphNode>& dependencies,
                              size_t& count);
  // Instance::turnovers() of an operation, as a chain.
  Result<void> add_turnovers(hip::Graph graph, uint32_t index,
                             std::vector<hip::GraphNode>& dependencies, size_t& count);
  // Those of one operation: usually one, otherwise a chain.
  Result<void> add_nodes(hip::Graph graph, uint32_t index,
                         std::vector<hip::GraphNode>& dependencies, size_t& count);

  hip::KernelNodeParams parameters_of_launch(uint32_t launch);
  static hip::MemsetParams parameters_of(const PreparedMemset& memset);

 private:
  bool by_rows(const PreparedMemset& memset) const;
  auto chain_of(uint32_t index, std::vector<hip::GraphNode>& dependencies, size_t& count);
  template <typename Chain>
  Result<void> add_memset(hip::Graph graph, const PreparedMemset& memset,
                          std::vector<hip::GraphNode>& dependencies, const Chain& chain);
  template <typename Chain>
  Result<void> add_copies_of_pattern(hip::Graph graph, const PreparedMemset& memset,
                                     std::vector<hip::GraphNode>& dependencies, const Chain& chain);
  hip::Error add_copy(hip::GraphNode& node, hip::Graph graph,
                      const std::vector<hip::GraphNode>& dependencies, const PreparedCopy& copy);

  Instance& instance_;
  uint64_t& edges_;
  GraphArguments* apart_ = nullptr;
  std::deque<LaunchArguments> arguments_;  // of each launch: a node may keep the pointers
  PatternBuffers patterns_;
};

}  // namespace gfxgraph::replayer
