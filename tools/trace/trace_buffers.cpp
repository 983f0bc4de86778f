#include "tools/trace/trace_buffers.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "format/ranges/range_parameters.h"
#include "format/site_name.h"
#include "format/walk.h"

namespace gfxgraph::tools {

using namespace ranges;
namespace {

using Counts = std::unordered_map<format::AllocationId, uint64_t>;

// Each buffer once, however often the arguments name it.
void count(const format::Launch& launch, Counts& counts) {
  std::unordered_set<format::AllocationId> named;
  for (const format::Relocation& relocation : launch.relocations) {
    if (named.insert(relocation.allocation).second) ++counts[relocation.allocation];
  }
}

using Users = std::unordered_map<format::AllocationId, Place>;

// Pointers that the kernel's own metadata names go before words that look like one.
void note_users(const format::Trace& trace, const format::Launch& launch, Users& users) {
  for (const format::Relocation& relocation : launch.relocations) {
    if (relocation.source == format::RelocationSource::kMatched || relocation.outside) continue;
    if (users.contains(relocation.allocation)) continue;
    Place place;
    place.kernel = launch.kernel;
    place.offset_bytes = static_cast<uint32_t>(relocation.offset_bytes);
    if (launch.kernel != 0 && launch.kernel <= trace.kernels().size()) {
      const auto& arguments = trace.kernels()[launch.kernel - 1].arguments;
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (place.offset_bytes - arguments[i].offset_bytes >= arguments[i].size_bytes) continue;
        place.argument = static_cast<uint32_t>(i);
        break;
      }
    }
    users.emplace(relocation.allocation, place);
  }
}

void name_first(const format::Trace& trace, BufferSummary& buffer) {
  const format::AllocationBegin& begin = *buffer.begin;
  const std::pair<std::string, NameSource> names[] = {
      {begin.name, NameSource::kGiven},
      {begin.symbol, NameSource::kSymbol},
      {format::made_name(trace.sites(), begin), NameSource::kCallSite}};
  for (const auto& [name, source] : names) {
    if (name.empty()) continue;
    buffer.name = name;
    buffer.name_source = source;
    return;
  }
}

}  // namespace

const char* name_source_name(NameSource source) {
  switch (source) {
    case NameSource::kUnnamed: return "";
    case NameSource::kGiven: return "given";
    case NameSource::kSymbol: return "symbol";
    case NameSource::kCallSite: return "call site";
  }
  return "";
}

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
  Users users;
  std::vector<uint64_t> graph_launches(graphs.size());
  for (const format::Event& event : trace.events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      places[begin->id] = buffers.size();
      BufferSummary& buffer = buffers.emplace_back();
      buffer.begin = begin;
      name_first(trace, buffer);
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
        buffers[found->second].name_source = NameSource::kGiven;
      }
    } else if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      count(*launch, launches);
      note_users(trace, *launch, users);
    } else if (const auto* graph = std::get_if<format::GraphLaunch>(&event.action)) {
      if (format::graph_of(trace, *graph) == nullptr) continue;
      if (graph_launches[graph->graph - 1]++ != 0) continue;
      format::for_each_launch(trace, event, [&](const format::PlacedLaunch& one) {
        note_users(trace, *one.launch, users);
      });
    }
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const auto& [id, times] : graphs[i]) launches[id] += times * graph_launches[i];
  }
  for (BufferSummary& buffer : buffers) {
    if (const auto found = launches.find(buffer.begin->id); found != launches.end()) {
      buffer.launches = found->second;
    }
    if (const auto user = users.find(buffer.begin->id); user != users.end()) {
      buffer.used_by = place_text(trace, user->second);
    }
  }
  return buffers;
}

}  // namespace gfxgraph::tools
