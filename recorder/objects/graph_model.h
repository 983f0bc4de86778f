// The program's hipGraphs: explicit nodes, captured streams, clones, child graphs and executable
// graphs. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "recorder/handle.h"
#include "recorder/objects/raw_actions.h"

namespace gfxgraph::recorder {

struct GraphTemplate;

struct TemplateNode {
  Handle handle = nullptr;  // hipGraphNode_t; nullptr while not known
  RawAction action;
  std::shared_ptr<GraphTemplate> child;
  std::vector<uint32_t> dependencies;  // indices in the same graph
  bool removed = false;
};

struct GraphTemplate {
  std::vector<TemplateNode> nodes;
  // (from, to) in the order in which they were added, as long as none was removed: HIP 5.2 pairs
  // the nodes of an update by it.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  bool edge_order_known = true;
  // From the first removal on: the level of each node as if none had been removed. Empty: none was.
  std::vector<uint32_t> kept_levels;

  // The node of a handle, or nothing.
  std::optional<uint32_t> find(Handle node) const;
  void connect(uint32_t from, uint32_t to);
  void disconnect(uint32_t from, uint32_t to);
  void remove(uint32_t node);

 private:
  void keep_levels();
};

// Whether removals left nodes, at any depth, whose level may be wrong in HIP 5.2: it follows an
// edge only to the next level, and does not run what it does not reach so.
bool may_drop_nodes(const GraphTemplate& graph);

// A copy that shares no child graph with the original.
std::shared_ptr<GraphTemplate> deep_copy(const GraphTemplate& graph);

// One node of an executable graph: children are spliced in, order is topological.
struct FlatNode {
  Handle handle = nullptr;  // of the top-level node; nullptr inside a child graph
  Handle child = nullptr;   // the top-level child graph node that the node came from
  RawAction action;
  // Its action when the program enables it again (hipGraphNodeSetEnabled); until then `action` is
  // empty.
  std::optional<RawAction> disabled;
  std::vector<uint32_t> dependencies;
  // Its position in level order, after that of its child graph node: HIP 5.2 pairs the nodes of
  // hipGraphExecUpdate by it. Empty: unknown.
  std::vector<uint32_t> place;
};

// Nothing when the dependencies form a cycle.
std::optional<std::vector<FlatNode>> flatten(const GraphTemplate& graph);

// Whether a child graph in it ends with several nodes.
bool child_has_several_ends(const GraphTemplate& graph);

// Whether a child graph whose nodes follow one another is a root, at any depth, and not the first
// one of its graph.
bool child_root_behind_another(const GraphTemplate& graph);

// The result of hipGraphExecUpdate on `nodes`: each takes the action of its partner in `update`,
// and the edges of both apply. `by_level`: the runtime pairs by level (HIP 5.2); otherwise only
// graphs whose nodes and edges were made in the same order are paired. False: the pairing is
// unknown, and nothing was changed.
bool update_nodes(std::vector<FlatNode>& nodes, std::vector<FlatNode> update, bool by_level);

struct ExecutableGraph {
  std::vector<FlatNode> nodes;
  // The last launch, reusable while nothing changes.
  format::GraphId id = 0;
  bool changed = true;
  bool launched = false;
  uint64_t map_generation = 0;
  format::BlobId fingerprint;
  // Nodes with plain host memory as a source: read again at every launch.
  bool reads_host_memory = false;
  format::DeviceNumber device = 0;  // was current when it was instantiated
  Handle once_disabled = nullptr;   // the first node that the program disabled
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
  // The capture adds to a graph that is there; the stream's first node depends on `nodes`.
  void begin_in(Handle stream, std::shared_ptr<GraphTemplate> graph, std::vector<uint32_t> nodes);
  // Its handle may be given to a new stream, which captures nothing.
  void forget_stream(Handle stream) { streams_.erase(stream); }
  // The graph that a capturing stream adds to; nullptr: it captures nothing.
  std::shared_ptr<GraphTemplate> graph_of(Handle stream) const;
  // What the stream's next node depends on, as the program sets it by hand.
  void depend_on(Handle stream, std::vector<uint32_t> nodes, bool replace);
  // The captured graph of the stream that began it. Every stream that joined leaves with it, except
  // those that the runtime still treats as capturing: HIP 5.2 forgets the streams that joined, and
  // adds their later work to the graph as well, instead of executing it.
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

// A stable identity of materialised nodes: equal exactly if a replay would do the same.
format::BlobId fingerprint(std::span<const format::GraphNode> nodes);

}  // namespace gfxgraph::recorder
