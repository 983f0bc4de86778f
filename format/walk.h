// The work of a trace in the order of the program: the nodes of a graph count at each launch of it.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "format/read/reader.h"
#include "format/trace.h"

namespace gfxgraph::format {

// nullptr: the trace lacks the graph.
inline const Graph* graph_of(const Trace& trace, const GraphLaunch& launch) noexcept {
  const std::vector<Graph>& graphs = trace.graphs();
  return launch.graph == 0 || launch.graph > graphs.size() ? nullptr : &graphs[launch.graph - 1];
}

// Calls `visit` with the event's action or, of a graph launch, with those of the nodes.
template <typename Visit>
void for_each_action(const Trace& trace, const Event& event, const Visit& visit) {
  const auto* const launch = std::get_if<GraphLaunch>(&event.action);
  if (launch == nullptr) return std::visit(visit, event.action);
  if (const Graph* const graph = graph_of(trace, *launch))
    for (const GraphNode& node : graph->nodes) std::visit(visit, node.action);
}

// A launch where it happens.
struct PlacedLaunch {
  const Launch* launch = nullptr;
  const Event* event = nullptr;
  StreamId stream = 0;           // of the graph launch, if a graph has it
  GraphId graph = 0;             // 0: of the stream itself
  std::optional<uint32_t> node;  // of the graph
};

template <typename Visit>
void for_each_launch(const Trace& trace, const Event& event, const Visit& visit) {
  if (const auto* const launch = std::get_if<Launch>(&event.action)) {
    visit(PlacedLaunch{launch, &event, launch->stream, 0, std::nullopt});
    return;
  }
  const auto* const of_graph = std::get_if<GraphLaunch>(&event.action);
  const Graph* const graph = of_graph == nullptr ? nullptr : graph_of(trace, *of_graph);
  if (graph == nullptr) return;
  for (uint32_t n = 0; n < graph->nodes.size(); ++n)
    if (const auto* const launch = std::get_if<Launch>(&graph->nodes[n].action))
      visit(PlacedLaunch{launch, &event, of_graph->stream, graph->id, n});
}

template <typename Visit>
void for_each_launch(const Trace& trace, const Visit& visit) {
  for (const Event& event : trace.events()) for_each_launch(trace, event, visit);
}

}  // namespace gfxgraph::format
