#include "format/write/tally.h"

namespace gfxgraph::format {
namespace {

void count(Statistics& statistics, const std::vector<Relocation>& relocations) {
  for (const Relocation& relocation : relocations) {
    switch (relocation.source) {
      case RelocationSource::kTyped: ++statistics.relocations_typed; break;
      case RelocationSource::kProven: ++statistics.relocations_proven; break;
      case RelocationSource::kMatched: ++statistics.relocations_matched; break;
    }
    if (relocation.ambiguous) ++statistics.relocations_ambiguous;
  }
}

struct RelocationCounter {
  Statistics& statistics;

  void operator()(const AllocationBegin& a) const { count(statistics, a.initial.relocations); }
  void operator()(const AllocationEnd& a) const { count(statistics, a.post.relocations); }
  void operator()(const HostWrite& a) const { count(statistics, a.content.relocations); }
  void operator()(const Launch& a) const { count(statistics, a.relocations); }
  void operator()(const Copy& a) const {
    count(statistics, a.host_source.relocations);
    count(statistics, a.host_result.relocations);
  }
  void operator()(const Checkpoint& a) const {
    for (const Checkpoint::State& state : a.states) count(statistics, state.relocations);
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

void count(Statistics& statistics, const Event& event) {
  ++statistics.events;
  if (std::holds_alternative<Launch>(event.action)) ++statistics.launches;
  if (std::holds_alternative<Copy>(event.action)) ++statistics.copies;
  if (std::holds_alternative<AllocationBegin>(event.action)) ++statistics.allocations;
  std::visit(RelocationCounter{statistics}, event.action);
}

void count(Statistics& statistics, const Graph& graph) {
  for (const GraphNode& node : graph.nodes) std::visit(RelocationCounter{statistics}, node.action);
}

}  // namespace gfxgraph::format
