// Graphs of a random program: built node by node or captured, launched, updated.
#include <algorithm>

#include "program.h"

namespace random_programs {
namespace {

bool conflict(const Accesses& first, const Accesses& second) {
  for (const Access& a : first) {
    for (const Access& b : second) {
      if (a.region == b.region && (a.write || b.write) && a.begin < b.end && b.begin < a.end)
        return true;
    }
  }
  return false;
}

// HIP 5.2.3 would not keep the order (docs/runtime-quirks.md). Device::add_node puts empty nodes
// into a graph that it builds like this; into a captured one it cannot. The last node of a capture
// may lose edges: what comes before it has another way to it.
template <typename Nodes>
bool may_lose_edges(const Nodes& nodes) {
  std::vector<bool> followed(nodes.size());
  for (const auto& node : nodes) {
    for (const int earlier : node.after) {
      if (node.after.size() > 1 && followed[static_cast<size_t>(earlier)]) return true;
      followed[static_cast<size_t>(earlier)] = true;
    }
  }
  return false;
}

}  // namespace

// A child's nodes come after what comes before it, and before what comes after it.
std::vector<Program::Flat> Program::flatten(const std::vector<GraphNode>& nodes) const {
  std::vector<Flat> flat;
  std::vector<OpSet> through;  // by node: everything that is complete after it
  for (const GraphNode& node : nodes) {
    OpSet before;
    for (const int earlier : node.after) before.merge(through[static_cast<size_t>(earlier)]);
    OpSet after = before;
    if (node.work.kind == WorkKind::kChild) {
      const size_t first = flat.size();
      for (const Flat& inner : flatten(graphs_[static_cast<size_t>(node.work.graph)].nodes)) {
        Flat shifted{inner.work, before};
        for (size_t i = 0; first + i < flat.size(); ++i) {
          if (inner.after.has(static_cast<int>(i))) shifted.after.add(static_cast<int>(first + i));
        }
        after.add(static_cast<int>(flat.size()));
        flat.push_back(std::move(shifted));
      }
    } else {
      after.add(static_cast<int>(flat.size()));
      flat.push_back({node.work, before});
    }
    through.push_back(std::move(after));
  }
  return flat;
}

// Is one launch legal with the memory as it is now? Gives what each node touches.
bool Program::check_flat(const std::vector<Flat>& flat, std::vector<Accesses>& accesses) {
  const Memory::State state = memory_.save();
  accesses.assign(flat.size(), {});
  bool legal = true;
  for (size_t i = 0; i < flat.size() && legal; ++i) {
    const int module = flat[i].work.module;  // a captured launch's; it may be unloaded by now
    legal = (module < 0 || module == module_) && accesses_of(flat[i].work, memory_, accesses[i]);
    for (size_t j = 0; j < i && legal; ++j)
      legal = flat[i].after.has(static_cast<int>(j)) || !conflict(accesses[i], accesses[j]);
    if (legal) apply(flat[i].work, memory_);
  }
  memory_.restore(state);
  return legal;
}

// Adds a node with the edges that it needs and some that it does not.
void Program::link(std::vector<GraphNode>& nodes, GraphNode node, Rng& rng) {
  nodes.push_back(std::move(node));
  const std::vector<Flat> flat = flatten(nodes);
  std::vector<Accesses> accesses;
  for (const Flat& one : flat) {
    Accesses list;
    accesses_of(one.work, memory_, list);
    accesses.push_back(std::move(list));
  }
  // The flat places of a node.
  std::vector<std::pair<size_t, size_t>> places;
  size_t next = 0;
  for (const GraphNode& one : nodes) {
    const size_t count = one.work.kind == WorkKind::kChild
                             ? flatten(graphs_[static_cast<size_t>(one.work.graph)].nodes).size()
                             : 1;
    places.emplace_back(next, next + count);
    next += count;
  }
  const size_t added = nodes.size() - 1;
  std::vector<bool> ordered(nodes.size());
  const auto mark = [&](auto&& self, size_t at) -> void {
    ordered[at] = true;
    for (const int earlier : nodes[at].after) self(self, static_cast<size_t>(earlier));
  };
  for (size_t earlier = added; earlier-- > 0;) {
    if (ordered[earlier]) continue;
    bool needed = rng.chance(15);
    for (size_t i = places[added].first; i < places[added].second; ++i) {
      for (size_t j = places[earlier].first; j < places[earlier].second; ++j)
        needed = needed || conflict(accesses[i], accesses[j]);
    }
    if (!needed) continue;
    nodes[added].after.push_back(static_cast<int>(earlier));
    mark(mark, earlier);
  }
}

void Program::join_ends(std::vector<GraphNode>& nodes) {
  std::vector<bool> followed(nodes.size());
  for (const GraphNode& node : nodes) {
    for (const int earlier : node.after) followed[static_cast<size_t>(earlier)] = true;
  }
  GraphNode join;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!followed[i]) join.after.push_back(static_cast<int>(i));
  }
  if (join.after.size() > 1) nodes.push_back(std::move(join));
}

int Program::make_graph(Rng& rng, int number, int depth) {
  const uint32_t count = rng.between(2, depth == 0 ? 7 : 3);
  std::vector<GraphNode> nodes;
  for (uint32_t part = 0; part < count; ++part) {
    const int place = static_cast<int>(part) + depth * 100;
    Rng own(options_.seed, static_cast<uint64_t>(number), static_cast<uint64_t>(place) + 1);
    if (dropped(number, place)) continue;
    GraphNode node;
    if (depth == 0 && on(Feature::children) && own.chance(12)) {
      node.work.kind = WorkKind::kChild;
      node.work.graph = make_graph(own, number, 1 + static_cast<int>(part));
      if (node.work.graph < 0) continue;
    } else if (own.chance(5)) {
      node.work.kind = WorkKind::kEmpty;
    } else if (!make_work(own, node.work, true)) {
      continue;
    }
    define_inputs(node.work, own);
    link(nodes, std::move(node), own);
    // HIP 5.2.3 would begin it too early (docs/runtime-quirks.md, kChildRootBeginsEarly).
    if (nodes.back().work.kind == WorkKind::kChild && nodes.size() > 1 &&
        nodes.back().after.empty()) {
      nodes.back().after.push_back(0);
    }
  }
  if (nodes.empty()) return -1;
  // HIP waits for one of a child's last nodes only (docs/runtime-quirks.md,
  // kChildEndsNotWaitedFor).
  if (depth != 0) join_ends(nodes);
  const int graph = static_cast<int>(graphs_.size());
  graphs_.push_back({true, false, false, std::move(nodes)});
  use_device(0);
  device_.create_graph(graph);
  say(text("create graph %d", graph));
  for (const GraphNode& node : graphs_.back().nodes) {
    std::string line = text("  graph %d: ", graph) + work_text(node.work, memory_) + ", after";
    for (const int earlier : node.after) line += text(" %d", earlier);
    say(line);
    device_.add_node(graph, node.work, memory_, node.after);
    if (node.work.kind == WorkKind::kChild)
      graphs_[static_cast<size_t>(node.work.graph)].in_use = true;
  }
  return graph;
}

int Program::make_captured(Rng& rng, int number) {
  const int origin = pick_stream(rng, true, 0);
  if (origin < 0) return -1;
  std::vector<GraphNode> planned;
  const uint32_t count = rng.between(2, 7);
  for (uint32_t part = 0; part < count; ++part) {
    Rng own(options_.seed, static_cast<uint64_t>(number), part + 1);
    GraphNode node;
    captures_all_ = on(Feature::capture_layer);
    const bool made = !dropped(number, static_cast<int>(part)) && make_work(own, node.work, true);
    captures_all_ = false;
    if (!made || node.work.kind == WorkKind::kHost) continue;
    if (node.work.kind == WorkKind::kSet) {
      node.work.api = static_cast<uint32_t>(node.work.element == 4   ? SetApi::kD32Async
                                            : node.work.element == 2 ? SetApi::kD16Async
                                                                     : SetApi::kAsync);
    }
    define_inputs(node.work, own);
    planned.push_back(std::move(node));
  }
  if (planned.empty()) return -1;

  // HIP 5.2.3 leaves a forked stream in the state "capturing": such streams are used for nothing
  // else.
  std::vector<int> streams = {origin};
  for (uint32_t fork = rng.below(3); fork > 0; --fork) {
    streams.push_back(static_cast<int>(order_.streams.size()));
    order_.streams.emplace_back();
    use_device(0);
    say(text("create %s to fork into", stream_name(streams.back()).c_str()));
    device_.create_stream(streams.back(), Device::StreamFlags::kNonBlocking);
  }
  use_device(0);
  say(text("begin capture on %s", stream_name(origin).c_str()));
  device_.begin_capture(origin);
  std::vector<std::vector<int>> last(
      streams.size());  // what the next node of each stream comes after
  std::vector<bool> joined(streams.size());
  joined[0] = true;
  // HIP 5.2.3 cannot use an event outside of a capture any more that was recorded in one.
  int capture_events = 0;
  const auto edge = [&](size_t from, size_t to) {
    const int event = kEvents + capture_events++;
    say(text("record new event %d on %s, %s waits for it", event,
             stream_name(streams[from]).c_str(), stream_name(streams[to]).c_str()));
    device_.create_event(event, hipEventDisableTiming);
    device_.record(event, streams[from]);
    device_.stream_wait(streams[to], event);
    last[to].insert(last[to].end(), last[from].begin(), last[from].end());
    joined[to] = true;
  };
  std::vector<GraphNode> nodes;
  for (GraphNode& node : planned) {
    const size_t place = rng.below(streams.size());
    std::vector<size_t> waits;  // the streams whose tails the node comes after, beside its own
    if (!joined[place]) waits.push_back(0);
    node.after = last[joined[place] ? place : 0];
    // Needed edges come from the model; each becomes an event.
    for (size_t from = 0; from < streams.size(); ++from) {
      if (from == place || !joined[from] || (from == 0 && !joined[place])) continue;
      std::vector<GraphNode> trial = nodes;
      trial.push_back(node);
      const std::vector<Flat> flat = flatten(trial);
      Accesses mine, other;
      accesses_of(flat.back().work, memory_, mine);
      bool needed = rng.chance(10);
      for (const int earlier : last[from]) {
        // Everything before the tail of `from` that is not ordered yet.
        OpSet reach = flat[static_cast<size_t>(earlier)].after;
        reach.add(earlier);
        for (size_t j = 0; j + 1 < flat.size(); ++j) {
          if (!reach.has(static_cast<int>(j)) || flat.back().after.has(static_cast<int>(j)))
            continue;
          accesses_of(flat[j].work, memory_, other);
          needed = needed || conflict(mine, other);
        }
      }
      if (!needed) continue;
      waits.push_back(from);
      node.after.insert(node.after.end(), last[from].begin(), last[from].end());
    }
    nodes.push_back(node);
    const bool lost = may_lose_edges(nodes);
    nodes.pop_back();
    if (lost) continue;
    for (const size_t from : waits) edge(from, place);
    node.after = last[place];
    say(text("  captured node %zu: ", nodes.size()) + work_text(node.work, memory_) + " on " +
        stream_name(streams[place]).c_str());
    device_.submit(node.work, memory_, streams[place]);
    last[place] = {static_cast<int>(nodes.size())};
    nodes.push_back(node);
  }
  for (size_t fork = 1; fork < streams.size(); ++fork) {
    if (joined[fork]) edge(fork, 0);
  }
  // HIP 5.2.3 calls a capture with several last nodes unjoined.
  GraphNode end;
  end.work.kind = WorkKind::kKernel;
  end.work.kernel = Kernel::fill;
  end.work.refs[0] = {end_, 0};
  end.work.n = 16;
  end.after = last[0];
  say(text("  captured node %zu: ", nodes.size()) + work_text(end.work, memory_) + " on " +
      stream_name(origin).c_str());
  device_.submit(end.work, memory_, origin);
  nodes.push_back(end);
  const int graph = static_cast<int>(graphs_.size());
  say(text("end capture: graph %d", graph));
  device_.end_capture(origin, graph);
  for (; capture_events > 0; --capture_events) device_.destroy_event(kEvents + capture_events - 1);
  graphs_.push_back({true, true, false, std::move(nodes)});
  for (size_t fork = 1; fork < streams.size() && on(Feature::fork_handles); ++fork) {
    say(text("destroy %s", stream_name(streams[fork]).c_str()));
    device_.destroy_stream(streams[fork]);
  }
  return graph;
}

int Program::make_exec(int graph) {
  const int exec = static_cast<int>(execs_.size());
  use_device(0);
  say(text("instantiate graph %d: executable %d", graph, exec));
  device_.instantiate(exec, graph);
  execs_.push_back({true, false, graph, graphs_[static_cast<size_t>(graph)].nodes, {}});
  return exec;
}

void Program::act_build(Rng& rng, int number) {
  int graph = -1;
  const int original = graphs_.empty() ? -1 : static_cast<int>(rng.below(graphs_.size()));
  if (original >= 0 && on(Feature::children) && graphs_[original].live &&
      !graphs_[original].captured && rng.chance(15)) {
    graph = static_cast<int>(graphs_.size());
    say(text("clone graph %d: graph %d", original, graph));
    device_.clone_graph(graph, original);
    Graph clone = graphs_[original];
    graphs_.push_back(std::move(clone));
  } else {
    graph = make_graph(rng, number, 0);
  }
  if (graph < 0) return;
  make_exec(graph);
  if (rng.chance(80)) act_launch(rng);
}

void Program::act_capture(Rng& rng, int number) {
  const int graph = make_captured(rng, number);
  if (graph < 0) return;
  make_exec(graph);
  if (rng.chance(80)) act_launch(rng);
}

Program::Exec* Program::pick_exec(Rng& rng) {
  if (execs_.empty()) return nullptr;
  const size_t newest = execs_.size() - 1;
  const size_t start = rng.chance(50) ? newest : rng.below(execs_.size());
  for (size_t i = 0; i < execs_.size(); ++i) {
    Exec& exec = execs_[(start + i) % execs_.size()];
    if (exec.live) return &exec;
  }
  return nullptr;
}

void Program::act_launch(Rng& rng) {
  Exec* exec = pick_exec(rng);
  if (exec == nullptr) return;
  const int number = static_cast<int>(exec - execs_.data());
  for (uint32_t times = rng.chance(25) ? 2 : 1; times > 0; --times) {
    const int stream = pick_stream(rng, false, 0);
    const std::vector<Flat> flat = flatten(exec->nodes);
    std::vector<Accesses> accesses;
    if (!check_flat(flat, accesses)) {
      say(text("(executable %d would not be legal now)", number));
      return;
    }
    // HIP 5.2.3 calls the functions at once when it launches an executable again
    // (docs/runtime-quirks.md).
    const bool calls = std::ranges::any_of(
        flat, [](const Flat& node) { return node.work.kind == WorkKind::kHost; });
    if (exec->launched && calls) return;
    exec->launched = true;
    Accesses all;
    for (const Accesses& list : accesses) all.insert(all.end(), list.begin(), list.end());
    settle(stream, all, rng);
    // An executable runs once at a time.
    for (int op = 0; op < order_.count(); ++op) {
      if (exec->work.has(op) && !order_.before(stream).has(op)) settle_once(stream, op, rng);
    }
    use_device(0);
    say(text("launch executable %d on %s", number, stream_name(stream).c_str()));
    const OpSet before = order_.before(stream);
    device_.launch(number, stream);
    for (size_t i = 0; i < flat.size(); ++i) {
      const int op = order_.issue(stream, before);
      exec->work.add(op);
      memory_.used(op, accesses[i]);
      apply(flat[i].work, memory_);
    }
  }
}

bool Program::host_knows_launches(const Exec& exec) const {
  for (int op = 0; op < order_.count(); ++op) {
    if (exec.work.has(op) && !order_.host.has(op)) return false;
  }
  return true;
}

// Other parameters for a node of the executable graph, which stays legal.
void Program::act_set_node(Rng& rng) {
  Exec* exec = pick_exec(rng);
  if (exec == nullptr) return;
  const Graph& graph = graphs_[static_cast<size_t>(exec->graph)];
  if (!graph.live || graph.captured) return;
  const int number = static_cast<int>(exec - execs_.data());
  for (uint32_t times = rng.between(1, 3); times > 0; --times) {
    const size_t place = rng.below(exec->nodes.size());
    Work work = exec->nodes[place].work;
    bool live = true;
    for (const Access& access : static_accesses(work, memory_))
      live = live && memory_.at(access.region).live;
    if (!live || work.kind == WorkKind::kChild || work.kind == WorkKind::kEmpty) continue;
    // HIP 5.2.3 calls a function that is still to run with what is set here.
    if (work.kind == WorkKind::kHost && !host_knows_launches(*exec)) continue;
    if (work.kind == WorkKind::kCopy && static_cast<CopyApi>(work.api) != CopyApi::kAsync) continue;
    work.a = rng.word();
    if (work.kind == WorkKind::kKernel && work.kernel != Kernel::packed)
      work.spin = rng.chance(30) ? rng.between(1000, 8000) : rng.below(30);
    if (work.kind == WorkKind::kSet) work.value = work.element == 4 ? rng.word() : rng.below(256);
    if (work.kind == WorkKind::kCopy) {
      work.shape.width = rng.between(1, static_cast<uint32_t>(work.shape.width));
      work.to.ref = pick_range(rng, memory_.at(work.to.ref.region), work.shape.width, 1);
    }
    std::vector<GraphNode> nodes = exec->nodes;
    nodes[place].work = work;
    std::vector<Accesses> accesses;
    if (!check_flat(flatten(nodes), accesses)) continue;
    say(text("set node %zu of executable %d: ", place, number) + work_text(work, memory_));
    device_.set_node(number, exec->graph, static_cast<int>(place), work, memory_);
    exec->nodes = std::move(nodes);
  }
}

// The same graph once more, with other values, becomes the executable's.
void Program::act_exec_update(Rng& rng, int) {
  Exec* exec = pick_exec(rng);
  if (exec == nullptr) return;
  std::vector<GraphNode> nodes = exec->nodes;
  for (GraphNode& node : nodes) {
    if (node.work.kind == WorkKind::kChild) return;
    if (rng.chance(50)) continue;
    node.work.a = rng.word();
    if (node.work.kind == WorkKind::kKernel && node.work.kernel != Kernel::packed)
      node.work.spin = rng.below(30);
    if (node.work.kind == WorkKind::kSet) node.work.value = rng.below(256);
  }
  std::vector<Accesses> accesses;
  if (may_lose_edges(nodes) || !check_flat(flatten(nodes), accesses)) return;
  // HIP 5.2.3 calls a function that is still to run with what the update brings.
  const bool calls = std::ranges::any_of(
      nodes, [](const GraphNode& node) { return node.work.kind == WorkKind::kHost; });
  if (calls && !host_knows_launches(*exec)) return;
  const int number = static_cast<int>(exec - execs_.data());
  const int graph = static_cast<int>(graphs_.size());
  graphs_.push_back({true, false, false, nodes});
  use_device(0);
  device_.create_graph(graph);
  say(text("create graph %d like executable %d", graph, number));
  for (const GraphNode& node : nodes) {
    std::string line = text("  graph %d: ", graph) + work_text(node.work, memory_) + ", after";
    for (const int earlier : node.after) line += text(" %d", earlier);
    say(line);
    device_.add_node(graph, node.work, memory_, node.after);
  }
  say(text("update executable %d to graph %d", number, graph));
  if (device_.update(number, graph)) exec->nodes = std::move(nodes);
}

void Program::act_destroy_graph(Rng& rng) {
  if (rng.chance(50) && !graphs_.empty()) {
    const size_t number = rng.below(graphs_.size());
    Graph& graph = graphs_[number];
    if (!graph.live || graph.in_use) return;
    for (const GraphNode& node : graph.nodes) {
      if (node.work.kind == WorkKind::kChild) return;
    }
    say(text("destroy graph %zu", number));
    device_.destroy_graph(static_cast<int>(number));
    graph.live = false;
    return;
  }
  Exec* exec = pick_exec(rng);
  if (exec == nullptr) return;
  for (int op = 0; op < order_.count(); ++op) {
    if (exec->work.has(op) && !order_.host.has(op)) host_waits_for(op, rng);
  }
  const int number = static_cast<int>(exec - execs_.data());
  say(text("destroy executable %d", number));
  device_.destroy_exec(number);
  exec->live = false;
}

}  // namespace random_programs
