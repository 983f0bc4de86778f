#include "order/stream_order.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::order {

void StreamOrder::unite(Set& set, const Set& other) const {
  set.insert(set.end(), other.begin(), other.end());
  reach_.minimise(set);
}

StreamOrder::Issued StreamOrder::issue_after(Set follows) {
  const size_t unreduced = follows.size();
  reach_.add(follows);
  return {issued_++, std::move(follows), unreduced};
}

StreamOrder::Issued StreamOrder::issue(format::StreamId stream) {
  Issued issued = issue_after(front(stream));
  streams_.issued(stream, {issued.number});
  return issued;
}

void StreamOrder::begin_graph(format::StreamId stream, size_t nodes) {
  graph_ = {stream, front(stream), {}, {}};
  graph_.after.reserve(nodes);
  graph_.followed.reserve(nodes);
}

Set StreamOrder::node_follows(std::span<const uint32_t> follows) {
  if (follows.empty()) return graph_.before;
  Set set;
  for (const uint32_t earlier : follows) {
    if (earlier >= graph_.after.size()) continue;  // a reader refuses such a graph
    unite(set, graph_.after[earlier]);
    graph_.followed[earlier] = true;
  }
  return set;
}

StreamOrder::Issued StreamOrder::issue_node(std::span<const uint32_t> follows) {
  Issued issued = issue_after(node_follows(follows));
  graph_.after.push_back({issued.number});
  graph_.followed.push_back(false);
  return issued;
}

const Set& StreamOrder::pass_node(std::span<const uint32_t> follows) {
  graph_.after.push_back(node_follows(follows));
  graph_.followed.push_back(false);
  return graph_.after.back();
}

void StreamOrder::end_graph() {
  Set leaves = graph_.after.empty() ? std::move(graph_.before) : Set{};
  for (size_t node = 0; node < graph_.after.size(); ++node) {
    const Set& after = graph_.after[node];
    if (!graph_.followed[node]) leaves.insert(leaves.end(), after.begin(), after.end());
  }
  reach_.minimise(leaves);
  streams_.issued(graph_.stream, std::move(leaves));
}

void StreamOrder::host_function(format::StreamId stream, format::HostFunctionId id) {
  const Set& done = streams_.passed(stream);
  if (id != 0) ran_[id] = done;
}

void StreamOrder::synchronize(format::SynchronizeKind kind, uint32_t object) {
  switch (kind) {
    case format::SynchronizeKind::kDevice: return wait_device(object);
    case format::SynchronizeKind::kStream: host_ = front(object); return;
    case format::SynchronizeKind::kStreamItself: return unite(host_, streams_.tail(object));
    case format::SynchronizeKind::kEvent: return unite(host_, streams_.captured(object));
    case format::SynchronizeKind::kHostFunction:
      if (const auto found = ran_.find(object); found != ran_.end()) unite(host_, found->second);
  }
}

void StreamOrder::wait_device(format::DeviceNumber device) {
  unite(host_, streams_.of_device(device));
}

void StreamOrder::wait_devices() {
  streams_.each_tail([&](format::StreamId, Set& tail) {
    host_.insert(host_.end(), tail.begin(), tail.end());
    tail.clear();
  });
  reach_.minimise(host_);
}

void StreamOrder::tell_host(uint32_t work) { unite(host_, {work}); }

bool StreamOrder::host_knows(uint32_t work) const {
  return std::ranges::any_of(host_, [&](uint32_t last) { return reach_.reaches(work, last); });
}

}  // namespace gfxgraph::order
