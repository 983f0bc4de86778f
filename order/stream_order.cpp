#include "order/stream_order.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::order {

void StreamOrder::add(format::StreamId stream, const Stream& facts) { streams_[stream] = facts; }

const StreamOrder::Stream& StreamOrder::facts(format::StreamId stream) const {
  static constexpr Stream kUnknown;
  const auto found = streams_.find(stream);
  return found == streams_.end() ? kUnknown : found->second;
}

void StreamOrder::unite(Set& set, const Set& other) const {
  set.insert(set.end(), other.begin(), other.end());
  reach_.minimise(set);
}

Set StreamOrder::front(format::StreamId stream) const {
  Set set = host_;
  const auto add_tail = [&](format::StreamId one) {
    if (const auto found = tails_.find(one); found != tails_.end())
      set.insert(set.end(), found->second.begin(), found->second.end());
  };
  add_tail(stream);
  const Stream& own = facts(stream);
  if (stream == own.null_stream) {
    for (const auto& [other, tail] : tails_) {
      const Stream& one = facts(other);
      if (other != stream && one.blocking && one.null_stream == stream)
        set.insert(set.end(), tail.begin(), tail.end());
    }
  } else if (own.blocking) {
    add_tail(own.null_stream);
  }
  reach_.minimise(set);
  return set;
}

StreamOrder::Issued StreamOrder::issue_after(Set follows) {
  const size_t unreduced = follows.size();
  reach_.add(follows);
  return {issued_++, std::move(follows), unreduced};
}

StreamOrder::Issued StreamOrder::issue(format::StreamId stream) {
  Issued issued = issue_after(front(stream));
  tails_[stream] = {issued.number};
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
  tails_[graph_.stream] = std::move(leaves);
}

void StreamOrder::record(format::EventId event, format::StreamId stream) {
  Set captured = front(stream);
  // On a null stream a record, a wait and a host function join the blocking streams, as other work.
  if (is_null(stream)) tails_[stream] = captured;
  captured_[event] = std::move(captured);
}

void StreamOrder::wait(format::StreamId stream, format::EventId event) {
  if (is_null(stream)) tails_[stream] = front(stream);
  if (const auto found = captured_.find(event); found != captured_.end())
    unite(tails_[stream], found->second);
}

void StreamOrder::host_function(format::StreamId stream, format::HostFunctionId id) {
  const bool joins = is_null(stream);
  if (!joins && id == 0) return;
  Set done = front(stream);
  if (joins) tails_[stream] = done;
  if (id != 0) ran_[id] = std::move(done);
}

void StreamOrder::synchronize(format::SynchronizeKind kind, uint32_t object) {
  const auto learn = [&](const auto& sets) {
    if (const auto found = sets.find(object); found != sets.end()) unite(host_, found->second);
  };
  switch (kind) {
    case format::SynchronizeKind::kDevice: return wait_device(object);
    case format::SynchronizeKind::kStream: host_ = front(object); return;
    case format::SynchronizeKind::kStreamItself: return learn(tails_);
    case format::SynchronizeKind::kEvent: return learn(captured_);
    case format::SynchronizeKind::kHostFunction: return learn(ran_);
  }
}

void StreamOrder::wait_device(format::DeviceNumber device) {
  for (auto& [stream, tail] : tails_) {
    if (facts(stream).device != device) continue;
    host_.insert(host_.end(), tail.begin(), tail.end());
    tail.clear();
  }
  reach_.minimise(host_);
}

void StreamOrder::wait_devices() {
  for (auto& [stream, tail] : tails_) host_.insert(host_.end(), tail.begin(), tail.end());
  tails_.clear();
  reach_.minimise(host_);
}

void StreamOrder::tell_host(uint32_t work) { unite(host_, {work}); }

bool StreamOrder::host_knows(uint32_t work) const {
  return std::ranges::any_of(host_, [&](uint32_t last) { return reach_.reaches(work, last); });
}

}  // namespace gfxgraph::order
