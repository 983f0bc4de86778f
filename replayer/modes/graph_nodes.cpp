#include "replayer/modes/graph_nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "replayer/modes/graph_arguments.h"

namespace gfxgraph::replayer {
namespace {

// With more rows than this, a memset that needs a node per row is not worth its nodes.
constexpr uint64_t kMaxRowNodes = 256;

}  // namespace

void GraphNodes::prepare(GraphArguments* apart) {
  apart_ = apart;
  for (uint32_t i = 0; i < instance_.launches(); ++i) arguments_.emplace_back(instance_.launch(i));
}

const char* GraphNodes::reason_outside(uint32_t index) const {
  const PreparedOperation& operation = instance_.operation(index);
  if (operation.kind == OperationKind::kMemset && by_rows(instance_.memset(operation.index))) {
    const PreparedMemset& memset = instance_.memset(operation.index);
    return memset.height * memset.depth > kMaxRowNodes ? "pitched memset of many rows" : nullptr;
  }
  if (operation.streamed) return "host copy that goes through the staging ring";
  if (operation.kind != OperationKind::kLaunch) return nullptr;
  const SpecialLaunch* const special = instance_.special(instance_.launch(operation.index));
  if (special == nullptr || special->in_graph()) return nullptr;
  return special->cooperative ? "cooperative launch" : "partial workgroups";
}

bool GraphNodes::by_rows(const PreparedMemset& memset) const {
  const HipLibrary& library = instance_.library();
  return memset.height > 1 &&
         (by_copies() || library.avoids(HipQuirk::kPitchedMemsetNodeWritesElementSize) ||
          (memset.element_bytes > 1 && library.avoids(HipQuirk::kPitchedMemsetNodeTooWide)));
}

bool GraphNodes::by_copies() const {
  return instance_.library().avoids(HipQuirk::kMemsetNodeOverwritten);
}

Result<void> GraphNodes::add_empty_node(hip::Graph graph, std::vector<hip::GraphNode>& dependencies,
                                        size_t& count) {
  hip::GraphNode node = nullptr;
  GFXGRAPH_TRY(instance_.library().check(
      instance_.hip().hipGraphAddEmptyNode(&node, graph, dependencies.data(), dependencies.size()),
      "hipGraphAddEmptyNode"));
  edges_ += dependencies.size();
  ++count;
  dependencies.assign(1, node);
  return {};
}

// Adds a node after `dependencies`, which becomes that node.
auto GraphNodes::chain_of(uint32_t index, std::vector<hip::GraphNode>& dependencies,
                          size_t& count) {
  return
      [this, index, &dependencies, &count](hip::Error code, hip::GraphNode node) -> Result<void> {
        if (code != hip::kSuccess)
          return instance_.library().check(code,
                                           "graph node for " + instance_.program().describe(index));
        edges_ += dependencies.size();
        ++count;
        dependencies.assign(1, node);
        return {};
      };
}

// A memset as copies: the first copies from a buffer with the pattern, each later one doubles the
// filled bytes. Rows follow one after another.
template <typename Chain>
Result<void> GraphNodes::add_copies_of_pattern(hip::Graph graph, const PreparedMemset& memset,
                                               std::vector<hip::GraphNode>& dependencies,
                                               const Chain& chain) {
  GFXGRAPH_ASSIGN_OR_RETURN(
      const PatternBuffer* const pattern,
      patterns_.get(instance_.memory().source(), memset.element_bytes, memset.value));
  const uint64_t row_bytes = memset.width * memset.element_bytes;
  for (uint64_t row = 0; row < memset.depth * memset.height; ++row) {
    uint8_t* const destination = memset.copy_destination + row / memset.height * memset.slice +
                                 row % memset.height * memset.pitch;
    for (uint64_t done = 0; done < row_bytes;) {
      const uint64_t size = std::min(row_bytes - done, done == 0 ? pattern->size_bytes : done);
      const void* const source = done == 0 ? pattern->pointer : destination;
      hip::GraphNode node = nullptr;
      const hip::Error code = instance_.hip().hipGraphAddMemcpyNode1D(
          &node, graph, dependencies.data(), dependencies.size(), destination + done, source, size,
          hip::kCopyDefault);
      GFXGRAPH_TRY(chain(code, node));
      done += size;
    }
  }
  return {};
}

template <typename Chain>
Result<void> GraphNodes::add_memset(hip::Graph graph, const PreparedMemset& memset,
                                    std::vector<hip::GraphNode>& dependencies, const Chain& chain) {
  hip::GraphNode node = nullptr;
  const bool small_rows = memset.small_row != nullptr && (memset.height == 1 || by_rows(memset));
  if (by_copies() || small_rows) return add_copies_of_pattern(graph, memset, dependencies, chain);
  const uint64_t rows_per_node = by_rows(memset) ? 1 : memset.height;
  hip::MemsetParams parameters = parameters_of(memset);
  parameters.height = rows_per_node;
  for (uint64_t slice = 0; slice < memset.depth; ++slice) {
    for (uint64_t row = 0; row < memset.height; row += rows_per_node) {
      parameters.destination = memset.destination + slice * memset.slice + row * memset.pitch;
      const hip::Error code = instance_.hip().hipGraphAddMemsetNode(
          &node, graph, dependencies.data(), dependencies.size(), &parameters);
      GFXGRAPH_TRY(chain(code, node));
    }
  }
  return {};
}

Result<void> GraphNodes::add_turnovers(hip::Graph graph, uint32_t index,
                                       std::vector<hip::GraphNode>& dependencies, size_t& count) {
  const auto chain = chain_of(index, dependencies, count);
  const Memory& memory = instance_.memory();
  for (const Turnover& turnover : instance_.turnovers(index)) {
    for (const EndedBytes& ended : turnover.ended) {
      if (memory.kept() == nullptr) break;
      hip::GraphNode node = nullptr;
      const hip::Error code = instance_.hip().hipGraphAddMemcpyNode1D(
          &node, graph, dependencies.data(), dependencies.size(), memory.kept() + ended.kept_offset,
          memory.arena() + ended.arena_offset, ended.size_bytes, hip::kDeviceToHost);
      GFXGRAPH_TRY(chain(code, node));
    }
    PreparedMemset fill;
    fill.destination = fill.copy_destination = memory.arena() + turnover.arena_offset;
    fill.value = memory.fresh_byte_now(turnover.begins);
    fill.width = fill.pitch = fill.slice = turnover.size_bytes;
    GFXGRAPH_TRY(add_memset(graph, fill, dependencies, chain));
  }
  return {};
}

Result<void> GraphNodes::add_nodes(hip::Graph graph, uint32_t index,
                                   std::vector<hip::GraphNode>& dependencies, size_t& count) {
  const PreparedOperation& operation = instance_.operation(index);
  if (operation.empty) return {};
  const auto chain = chain_of(index, dependencies, count);
  hip::GraphNode node = nullptr;
  switch (operation.kind) {
    case OperationKind::kLaunch: {
      const hip::KernelNodeParams parameters = parameters_of_launch(operation.index);
      const hip::Error code = instance_.hip().hipGraphAddKernelNode(
          &node, graph, dependencies.data(), dependencies.size(), &parameters);
      return chain(code, node);
    }
    case OperationKind::kCopy: {
      const hip::Error code = add_copy(node, graph, dependencies, instance_.copy(operation.index));
      return chain(code, node);
    }
    case OperationKind::kMemset: break;
  }
  return add_memset(graph, instance_.memset(operation.index), dependencies, chain);
}

hip::KernelNodeParams GraphNodes::parameters_of_launch(uint32_t index) {
  const PreparedLaunch& launch = instance_.launch(index);
  hip::KernelNodeParams parameters;
  const bool apart = apart_ != nullptr && apart_->has(index);
  parameters.function = apart ? apart_->function(index) : instance_.function(launch);
  parameters.grid = launch.grid;
  parameters.block = launch.block;
  parameters.shared_bytes = launch.lds_bytes;
  const SpecialLaunch* const special = instance_.special(launch);
  if (special != nullptr && !apart) {
    parameters.function = const_cast<void*>(special->stub);
    parameters.kernel_params = special->parameters;
    return parameters;
  }
  parameters.extra = apart ? apart_->extra(index) : arguments_[index].extra();
  return parameters;
}

hip::MemsetParams GraphNodes::parameters_of(const PreparedMemset& memset) {
  hip::MemsetParams parameters;
  parameters.destination = memset.destination;
  parameters.element_bytes = memset.element_bytes;
  parameters.value = memset.value;
  parameters.width = memset.width;
  parameters.height = memset.height;
  parameters.pitch_bytes = memset.pitch;
  return parameters;
}

hip::Error GraphNodes::add_copy(hip::GraphNode& node, hip::Graph graph,
                                const std::vector<hip::GraphNode>& dependencies,
                                const PreparedCopy& copy) {
  if (copy.linear()) {
    return instance_.hip().hipGraphAddMemcpyNode1D(&node, graph, dependencies.data(),
                                                   dependencies.size(), copy.destination,
                                                   copy.source, copy.width, copy.kind);
  }
  const hip::Memcpy3dParams parameters = copy.parameters(instance_.hip());
  return instance_.hip().hipGraphAddMemcpyNode(&node, graph, dependencies.data(),
                                               dependencies.size(), &parameters);
}

}  // namespace gfxgraph::replayer
