#include "format/ranges/work_shape.h"

#include <initializer_list>
#include <type_traits>
#include <variant>

#include "base/hash.h"

namespace gfxgraph::ranges {
namespace {

uint64_t shape_of(const format::Launch& launch) {
  return hash_numbers({1, launch.kernel, launch.stream});
}
uint64_t shape_of(const format::Copy& copy) {
  return hash_numbers(
      {2, copy.stream, copy.source.allocation == 0, copy.destination.allocation == 0});
}
uint64_t shape_of(const format::Memset& set) {
  return hash_numbers({3, set.stream, set.element_bytes});
}
uint64_t shape_of(const format::HostFunction& function) {
  return hash_numbers({4, function.stream});
}
template <typename Other>
uint64_t shape_of(const Other&) {
  return 0;
}

}  // namespace

uint64_t hash_numbers(std::initializer_list<uint64_t> numbers) {
  uint64_t hash = 0;
  for (const uint64_t number : numbers) hash = mix(hash * 0x9E3779B97F4A7C15 + number);
  return hash == 0 ? 1 : hash;
}

WorkShapes::WorkShapes(const format::Trace& trace) {
  for (const format::Graph& graph : trace.graphs()) {
    uint64_t& hash = graphs_.emplace_back(graph.nodes.size());
    for (const format::GraphNode& node : graph.nodes) {
      hash = hash_numbers(
          {hash, std::visit([](const auto& action) { return shape_of(action); }, node.action)});
    }
  }
}

uint64_t WorkShapes::of(const format::Action& action) const {
  if (const auto* launch = std::get_if<format::GraphLaunch>(&action)) {
    const bool known = launch->graph != 0 && launch->graph <= graphs_.size();
    return hash_numbers({5, launch->stream, known ? graphs_[launch->graph - 1] : 0});
  }
  return std::visit([](const auto& other) { return shape_of(other); }, action);
}

}  // namespace gfxgraph::ranges
