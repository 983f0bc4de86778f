#include "order/host_reach.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "format/walk.h"

namespace gfxgraph::order {
namespace {

void set(std::vector<bool>& bits, size_t at) {
  if (bits.size() <= at) bits.resize(at + 1);
  bits[at] = true;
}

}  // namespace

void HostReach::add(const format::AllocationBegin& begin) {
  if (format::host_visible(begin)) set(host_, begin.id);
  add_memory(begin.initial.relocations);
}

void HostReach::add(const format::Graph& graph) {
  for (const format::GraphNode& node : graph.nodes)
    if (const auto* const copy = std::get_if<format::Copy>(&node.action)) add(*copy);
}

void HostReach::add_memory(const std::vector<format::Relocation>& relocations) {
  for (const format::Relocation& relocation : relocations) set(pointed_, relocation.allocation);
}

bool HostReach::leads_to_host(const std::vector<format::Relocation>& relocations) const {
  return std::ranges::any_of(relocations, [this](const format::Relocation& relocation) {
    return is_host_memory(relocation.allocation);
  });
}

bool HostReach::by_memory() const {
  const size_t both = std::min(host_.size(), pointed_.size());
  for (size_t id = 0; id < both; ++id)
    if (host_[id] && pointed_[id]) return true;
  return false;
}

bool HostReach::raises_flag(const format::Copy& copy) const {
  return copy.source.allocation == 0 && copy.height == 1 && copy.depth == 1 &&
         copy.width_bytes <= sizeof(uint64_t) && is_host_memory(copy.destination.allocation);
}

HostReach host_reach_of(const format::Trace& trace) {
  HostReach reach;
  for (const format::Event& event : trace.events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action))
      reach.add(*begin);
    else if (const auto* write = std::get_if<format::HostWrite>(&event.action))
      reach.add(*write);
    else if (const auto* copy = std::get_if<format::Copy>(&event.action))
      reach.add(*copy);
    else if (const auto* launch = std::get_if<format::GraphLaunch>(&event.action))
      if (const format::Graph* const graph = format::graph_of(trace, *launch)) reach.add(*graph);
  }
  return reach;
}

}  // namespace gfxgraph::order
