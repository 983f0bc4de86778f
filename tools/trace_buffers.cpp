#include "tools/trace_buffers.h"

#include <unordered_map>
#include <unordered_set>

namespace gfxgraph::tools {
namespace {

using Counts = std::unordered_map<format::AllocationId, uint64_t>;

// Each buffer once, however often the arguments name it.
void count(const format::Launch& launch, Counts& counts) {
  std::unordered_set<format::AllocationId> named;
  for (const format::Relocation& relocation : launch.relocations) {
    if (named.insert(relocation.allocation).second) ++counts[relocation.allocation];
  }
}

}  // namespace

std::vector<BufferSummary> summarize_buffers(const format::Trace& trace) {
  std::vector<Counts> graphs;
  for (const format::Graph& graph : trace.graphs()) {
    Counts& counts = graphs.emplace_back();
    for (const format::GraphNode& node : graph.nodes) {
      if (const auto* launch = std::get_if<format::Launch>(&node.action)) count(*launch, counts);
    }
  }
  std::vector<BufferSummary> buffers;
  std::unordered_map<format::AllocationId, size_t> places;
  Counts launches;
  std::vector<uint64_t> graph_launches(graphs.size());
  for (const format::Event& event : trace.events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      places[begin->id] = buffers.size();
      BufferSummary& buffer = buffers.emplace_back();
      buffer.begin = begin;
      buffer.name = begin->name.empty() ? begin->symbol : begin->name;
      buffer.first_event = event.sequence;
      buffer.end_event = trace.events().size();
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      if (const auto found = places.find(end->id); found != places.end()) {
        buffers[found->second].end_event = event.sequence;
      }
    } else if (const auto* marker = std::get_if<format::Marker>(&event.action)) {
      if (marker->kind != format::MarkerKind::kName) continue;
      if (const auto found = places.find(marker->allocation); found != places.end()) {
        buffers[found->second].name = marker->text;
      }
    } else if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      count(*launch, launches);
    } else if (const auto* graph = std::get_if<format::GraphLaunch>(&event.action)) {
      if (graph->graph != 0 && graph->graph <= graphs.size()) ++graph_launches[graph->graph - 1];
    }
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const auto& [id, times] : graphs[i]) launches[id] += times * graph_launches[i];
  }
  for (BufferSummary& buffer : buffers) {
    if (const auto found = launches.find(buffer.begin->id); found != launches.end()) {
      buffer.launches = found->second;
    }
  }
  return buffers;
}

}  // namespace gfxgraph::tools
