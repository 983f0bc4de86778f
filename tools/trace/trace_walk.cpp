#include "tools/trace/trace_walk.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace gfxgraph::tools {
namespace {

using ContentVisitor = std::function<void(const format::Content&, const std::string&)>;

// Only actions with contents have an overload of their own; the template takes all others.
struct ContentsOf {
  const ContentVisitor& visit;
  const std::string& where;

  void operator()(const format::AllocationBegin& begin) const {
    visit(begin.initial, fmt::format("{}: initial contents of allocation {}", where, begin.id));
  }
  void operator()(const format::AllocationEnd& end) const {
    visit(end.post, fmt::format("{}: final contents of allocation {}", where, end.id));
  }
  void operator()(const format::HostWrite& write) const {
    visit(write.content, fmt::format("{}: host write to allocation {}", where, write.allocation));
  }
  void operator()(const format::Copy& copy) const {
    if (copy.source.allocation == 0) {
      visit(copy.host_source, fmt::format("{}: copy from host memory to allocation {}", where,
                                          copy.destination.allocation));
    }
    if (copy.destination.allocation == 0 && copy.host_result.size_bytes != 0) {
      visit(copy.host_result, fmt::format("{}: copy from allocation {} to host memory", where,
                                          copy.source.allocation));
    }
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

void for_each_content(const format::Trace& trace, const ContentVisitor& visit) {
  for (const format::Event& event : trace.events()) {
    const std::string where = fmt::format("event {}", event.sequence);
    std::visit(ContentsOf{visit, where}, event.action);
  }
  for (const format::Graph& graph : trace.graphs()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const std::string where = fmt::format("graph {} node {}", graph.id, i);
      std::visit(ContentsOf{visit, where}, graph.nodes[i].action);
    }
  }
}

void for_each_stored_launch(
    const format::Trace& trace,
    const std::function<void(const format::Launch&, const std::string&)>& visit) {
  for (const format::Event& event : trace.events()) {
    if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      visit(*launch, fmt::format("event {}", event.sequence));
    }
  }
  for (const format::Graph& graph : trace.graphs()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (const auto* launch = std::get_if<format::Launch>(&graph.nodes[i].action)) {
        visit(*launch, fmt::format("graph {} node {}", graph.id, i));
      }
    }
  }
}

}  // namespace gfxgraph::tools
