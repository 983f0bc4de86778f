// Launches of graphs.
#include <algorithm>
#include <utility>

#include "base/hip_quirks.h"
#include "recorder/events/host_memory.h"
#include "recorder/objects/devices.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {

using format::FindingKind;

namespace {

void find_events(ExecutableGraph& graph) {
  graph.waits.clear();
  graph.records.clear();
  for (const FlatNode& node : graph.nodes) {
    if (const auto* wait = std::get_if<RawEventWait>(&node.action)) {
      graph.waits.push_back(wait->event);
    } else if (const auto* record = std::get_if<RawEventRecord>(&node.action)) {
      graph.records.push_back(record->event);
    }
  }
}

}  // namespace

std::optional<std::vector<format::GraphNode>> DeviceWork::materialise(
    std::span<const FlatNode> flat_nodes, format::DeviceNumber graph_device, Work& work) {
  std::vector<format::GraphNode> nodes;
  for (const FlatNode& flat : flat_nodes) {
    format::GraphNode& node = nodes.emplace_back();
    node.dependencies = flat.dependencies;
    if (const auto* launch = std::get_if<RawLaunch>(&flat.action)) {
      if (launch->kernel == nullptr) return std::nullopt;  // a finding said why when it was added
      RawLaunch raw = *launch;
      raw.kernel = launches_.kernel_of_node(*launch->kernel, graph_device,
                                            DeviceStreams::device_of(work.stream), work.call);
      if (raw.kernel == nullptr) return std::nullopt;
      format::Launch made = launches_.make_launch(std::move(raw), 0);
      gives(made, work);
      node.action = std::move(made);
    } else if (const auto* copy = std::get_if<RawCopy>(&flat.action)) {
      if (auto made = make_copy(*copy, 0, work)) {
        if (!read_copy_source(*copy, *made))
          finding(FindingKind::kIncomplete, work.call, "a copy node's source cannot be read");
        node.action = std::move(*made);
      }
    } else if (const auto* set = std::get_if<RawMemset>(&flat.action)) {
      if (auto made = make_memset(as_node(*set), 0, work)) node.action = std::move(*made);
    } else if (const auto* write = std::get_if<RawWrite>(&flat.action)) {
      auto made = make_write(*write, 0, work);
      if (made && std::holds_alternative<format::Memset>(*made)) {
        node.action = std::get<format::Memset>(*std::move(made));
      } else if (made) {
        node.action = std::get<format::Copy>(*std::move(made));
      }
    } else if (const auto* function = std::get_if<RawHostFunction>(&flat.action)) {
      node.action = format::HostFunction{0, function->call, 0};
    }
    work.flight_nodes.resize(work.flights.size(), nodes.size() - 1);
  }
  return nodes;
}

// Notes edges that the runtime does not enforce: recorded contents may show another order.
void DeviceWork::note_lost_edges(const std::vector<format::GraphNode>& nodes) {
  const auto follows_nothing = [](const format::GraphNode& node) {
    return node.dependencies.empty();
  };
  if (hip_quirk_seen(HipQuirk::kRootsBeginEarly, facts_.runtime_version) &&
      std::ranges::count_if(nodes, follows_nothing) > 1) {
    finding(FindingKind::kNote, "hipGraphLaunch",
            "several nodes of the graph have no predecessor: this runtime may start all but the "
            "first before earlier work of the stream is done (docs/runtime-quirks.md, "
            "kRootsBeginEarly); a replay waits for that work");
  }
  if (!hip_quirk_seen(HipQuirk::kGraphEdgeLost, facts_.runtime_version)) return;
  std::vector<bool> followed(nodes.size());
  for (const format::GraphNode& node : nodes) {
    for (const uint32_t earlier : node.dependencies) {
      if (node.dependencies.size() > 1 && followed[earlier]) {
        finding(FindingKind::kNote, "hipGraphLaunch",
                "this runtime may start a node of several predecessors before one of them is done "
                "(docs/runtime-quirks.md, kGraphEdgeLost): a replay waits for all");
        return;
      }
      followed[earlier] = true;
    }
  }
}

// The runtime looks variables up when it launches a graph that copies from or to them.
void DeviceWork::note_other_variables(std::span<const FlatNode> nodes, const char* call) {
  if (!DeviceStreams::several()) return;
  for (const FlatNode& node : nodes) {
    const auto* const copy = std::get_if<RawCopy>(&node.action);
    if (copy == nullptr || copy->variable_of.value_or(current_device) == current_device) continue;
    return finding(FindingKind::kIncomplete, call,
                   "a graph that copies a variable, while another device is current than when the "
                   "copy was added");
  }
}

// For each host function of the graph: the copies and memsets that are done when it runs.
void DeviceWork::tell_by_functions(const std::vector<format::GraphNode>& nodes, Work& work) {
  for (size_t function = 0; function < nodes.size(); ++function) {
    if (!std::holds_alternative<format::HostFunction>(nodes[function].action)) continue;
    const std::vector<bool> before = nodes_before(nodes, function);
    std::set<size_t>& told = work.told_flights.emplace_back();
    for (size_t i = 0; i < work.flight_nodes.size(); ++i) {
      if (before[work.flight_nodes[i]]) told.insert(i);
    }
  }
}

void DeviceWork::comes_or_goes(const RawGraphMemory& memory) {
  const auto allocation = allocations_.map().find_begin(memory.address);
  if (allocation && allocation->of_graph) allocation->absent = allocation->gone = memory.frees;
}

void DeviceWork::prepare_graph_launch(Handle executable, Handle stream, Work& work) noexcept {
  work.stream = stream;
  work.call = "hipGraphLaunch";
  work.skip = true;
  guarded([&] {
    work.site = journal_.sites().here();
    events_.note_runs_if_any();
    const Findings::Hold hold(journal_.findings(), work.findings);
    const Contents::ReadingFor reading(contents_, work.call);
    ExecutableGraph* const known = executables_.find(executable);
    if (known == nullptr) {
      finding(FindingKind::kIncomplete, work.call, "of a graph that was not recorded");
      return;
    }
    // HIP 5.2 executes the graph instead of capturing its launch.
    if (graphs_.captures().capturing(stream) &&
        !hip_quirk_seen(HipQuirk::kGraphLaunchNotCaptured, facts_.runtime_version)) {
      finding(FindingKind::kIncomplete, work.call, "inside a stream capture");
      return;
    }
    ExecutableGraph& graph = *known;
    if (stretch_.outside()) {
      stretch_.fresh().kernels_run();
      graph.launched = true;
      for (const FlatNode& node : graph.nodes) {
        if (const auto* memory = std::get_if<RawGraphMemory>(&node.action)) comes_or_goes(*memory);
      }
      return;
    }
    note_other_variables(graph.nodes, work.call);
    const bool same = !graph.changed && !graph.reads_host_memory && graph.id != 0 &&
                      graph.map_generation == allocations_.map().generation() &&
                      allocations_.map().host_visible().empty() && allocations_.adopted().empty();
    work.in_graph = true;
    if (!same) {
      host_writes_.adopt_host_memory(graph, work);
      std::vector<std::shared_ptr<HostCall>> calls;
      for (const FlatNode& node : graph.nodes) {
        if (const auto* function = std::get_if<RawHostFunction>(&node.action)) {
          calls.push_back(function->wrapped);
        }
      }
      work.calls_host = !calls.empty();
      const std::vector<uint64_t> earlier = runs_.deferred().runs_before(events_.stream_id(stream));
      const bool lists = std::ranges::any_of(graph.nodes, [](const FlatNode& node) {
        return std::holds_alternative<RawValueList>(node.action);
      });
      std::vector<FlatNode> single;
      std::vector<NodeWait> value_waits;
      if (lists) single = with_single_values(graph.nodes, work.call, value_waits);
      const std::span<const FlatNode> flat(lists ? single : graph.nodes);
      std::optional<std::vector<format::GraphNode>> nodes = materialise(flat, graph.device, work);
      if (!nodes) {
        finding(FindingKind::kIncomplete, work.call, "a kernel of the graph is not known");
        return;
      }
      std::vector<std::pair<size_t, DeferredSource>> deferred;
      if (!calls.empty()) {
        host_writes_.check_watched_host_writes();
        tell_by_functions(*nodes, work);
        runs_.will_run(work, std::move(calls), executable);
      }
      defer_graph_sources(flat, *nodes, work, earlier, deferred);
      follow_node_values(value_waits, work);
      note_lost_edges(*nodes);
      graph.reads_host_memory = work.runs != 0 || lists;
      find_events(graph);
      for (const format::GraphNode& node : *nodes) {
        const auto* copy = std::get_if<format::Copy>(&node.action);
        if (copy != nullptr && copy->source.allocation == 0) graph.reads_host_memory = true;
      }
      const format::BlobId now = fingerprint(*nodes);
      const bool own = !deferred.empty() || runs_.deferred().waits_for_effects(work);
      if (graph.id == 0 || now != graph.fingerprint || own) {
        graph.id = next_graph_++;
        auto made = std::make_unique<format::Graph>(format::Graph{graph.id, std::move(*nodes)});
        for (auto& [index, source] : deferred) {
          source.copy = &std::get<format::Copy>(made->nodes[index].action);
          source.item = made.get();
        }
        const bool early = graph.launched &&
                           hip_quirk_seen(HipQuirk::kHostNodeCalledEarly, facts_.runtime_version);
        for (uint32_t i = 0; i < work.runs; ++i) {
          deferrals_.defer_effect(work.first_run + i, *made, i, early);
        }
        journal_.append(std::move(made));
        for (auto& [index, source] : deferred) runs_.defer(std::move(source));
      }
      graph.fingerprint = own ? format::BlobId{} : now;
      // If HIP refuses this launch, its findings are lost: then the next one is looked at again.
      graph.changed = !work.findings.empty();
      graph.map_generation = allocations_.map().generation();
    }
    graph.launched = true;
    for (const FlatNode& node : graph.nodes) {
      const auto* memory = std::get_if<RawGraphMemory>(&node.action);
      if (memory != nullptr) work.graph_memory.push_back(*memory);
    }
    // Event nodes order the whole graph: more than they ask for, and never less.
    for (const Handle event : graph.waits) {
      events_.append(format::StreamWait{events_.stream_id(stream), events_.event_id(event), 0});
    }
    work.records = graph.records;
    work.action = format::GraphLaunch{graph.id, events_.stream_id(stream), 0};
    reachable_may_be_written(work, events_.stream_id(stream));
    work.skip = false;
    host_writes_.may_overtake_reads(work);
    ++graph_launches_;
  });
}

// Copy nodes that follow host functions, nodes or `earlier` ones of streams: what these write into
// the source is read when they have run.
void DeviceWork::defer_graph_sources(std::span<const FlatNode> flat,
                                     std::vector<format::GraphNode>& nodes, Work& work,
                                     std::span<const uint64_t> earlier,
                                     std::vector<std::pair<size_t, DeferredSource>>& found) {
  const bool plain_early =
      hip_quirk_seen(HipQuirk::kPlainSourceNodeReadsEarly, facts_.runtime_version);
  std::vector<std::vector<uint64_t>> before(nodes.size());  // runs that a node follows
  uint64_t token = work.first_run;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<uint64_t>& runs = before[i];
    runs.assign(earlier.begin(), earlier.end());
    for (const uint32_t dependency : nodes[i].dependencies) {
      runs.insert(runs.end(), before[dependency].begin(), before[dependency].end());
    }
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    if (std::holds_alternative<format::HostFunction>(nodes[i].action)) runs.push_back(token++);
    auto* copy = std::get_if<format::Copy>(&nodes[i].action);
    if (copy == nullptr || runs.empty()) continue;
    const auto* const raw = std::get_if<RawCopy>(&flat[i].action);
    if (raw == nullptr) continue;  // a value, which the trace has
    Allocation* const source = allocations_.by_id(copy->source.allocation);
    if (plain_early && source != nullptr && source->plain_host) {
      finding(format::FindingKind::kIncomplete, work.call,
              "a copy node behind a host function reads plain memory that the graph writes, too: "
              "this runtime may read it before the function has run (docs/runtime-quirks.md, "
              "kPlainSourceNodeReadsEarly)");
      continue;
    }
    if (source != nullptr && (!source->host_visible() || source->watched)) continue;
    if (source == nullptr && plain_early) continue;
    if (copy->destination.allocation == 0) continue;  // one end must be in the trace
    DeferredSource deferred;
    deferred.raw = *raw;
    if (source != nullptr) {
      // Nodes that write the memory have it watched. What else may do so is not the functions'.
      const uint64_t begin = copy->source.offset_bytes;
      if (!flights_.over(source->id, begin, begin + copy_extent(deferred.raw, deferred.raw.source))
               .empty()) {
        host_writes_.check_host_writes(*source, 0, source->size_bytes);
        runs_.effects().watch(*source);
        continue;
      }
      deferred.raw.source.address = source->host_address + copy->source.offset_bytes;
      copy->source = {};
    }
    deferred.runs = runs;
    if (!read_copy_source(deferred.raw, *copy)) {
      finding(format::FindingKind::kIncomplete, work.call, "a copy node's source cannot be read");
    }
    found.emplace_back(i, std::move(deferred));
  }
}

}  // namespace gfxgraph::recorder
