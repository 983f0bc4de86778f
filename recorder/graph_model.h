// hipGraphs as the program builds them: explicit nodes, captured streams, clones, child graphs and
// executable graphs. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "recorder/raw_actions.h"

namespace gfxgraph::recorder {

using Handle = const void*;

struct GraphTemplate;

struct TemplateNode {
  Handle handle = nullptr;  // hipGraphNode_t; nullptr while not known
  RawAction action;
  std::shared_ptr<const GraphTemplate> child;
  std::vector<uint32_t> dependencies;  // indices in the same graph
  bool removed = false;
};

struct GraphTemplate {
  std::vector<TemplateNode> nodes;

  // The node of a handle, or nothing.
  std::optional<uint32_t> find(Handle node) const;
};

// One node of an executable graph: children are spliced in, order is topological.
struct FlatNode {
  Handle handle = nullptr;  // of the top-level node; nullptr inside a child graph
  Handle child = nullptr;   // the top-level child graph node that the node came from
  RawAction action;
  std::vector<uint32_t> dependencies;
};

// Nothing when the dependencies form a cycle.
std::optional<std::vector<FlatNode>> flatten(const GraphTemplate& graph);

struct ExecutableGraph {
  std::vector<FlatNode> nodes;
  // The last launch, reusable while nothing changed.
  format::GraphId id = 0;
  bool changed = true;
  uint64_t map_generation = 0;
  format::BlobId fingerprint;
  // Nodes with plain host memory as a source: read anew at every launch.
  bool reads_host_memory = false;
  // hipEvent_t of the event nodes.
  std::vector<Handle> waits;
  std::vector<Handle> records;
};

// Streams that are being captured.
class Captures {
 public:
  bool any() const;
  // Not even streams that the runtime forgot.
  bool none() const { return streams_.empty(); }
  bool capturing(Handle stream) const { return streams_.count(stream) != 0; }
  void begin(Handle stream);
  // The captured graph of the stream that began it; every stream that joined leaves with it, but
  // for those that the runtime still takes for capturing: HIP 5.2 forgets the streams that joined,
  // and puts what they are given later into the graph as well, instead of executing it.
  std::shared_ptr<GraphTemplate> end(Handle stream, const std::function<bool(Handle)>& forgotten);
  void add(Handle stream, RawAction action);
  // An event recorded in a capturing stream carries the capture to the streams that wait for it.
  void record_event(Handle event, Handle stream);
  // False when the event was not recorded in a capture.
  bool wait_event(Handle stream, Handle event);
  void forget_event(Handle event) { events_.erase(event); }

 private:
  struct State {
    std::shared_ptr<GraphTemplate> graph;
    std::vector<uint32_t> tail;  // the nodes that the stream's next one depends on
    bool ended = false;          // the capture has: the runtime forgot this stream
  };
  std::map<Handle, State> streams_;
  std::map<Handle, State> events_;
};

// A stable identity of materialised nodes: equal exactly when a replay would do the same.
format::BlobId fingerprint(std::span<const format::GraphNode> nodes);

}  // namespace gfxgraph::recorder
