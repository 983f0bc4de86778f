#include "accelerate/hold/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gfxgraph::accelerate {
namespace {

// Updates leak in some runtimes (kExecUpdateUnreliable in base/hip_quirks.inc) until the graph is
// destroyed: it is made again after so many.
constexpr uint64_t kUpdatesOfOneGraph = 100'000;
// A stream that no wait is for.
void* const kNoStream = reinterpret_cast<void*>(~uintptr_t{0});

}  // namespace

Result<void> Graphs::add(const Launches& launches, std::vector<Graph*>& own) {
  destroy_done();
  own.reserve(own.size() + 1);
  all_.reserve(all_.size() + 1);
  auto graph = std::make_unique<Graph>();
  if (launches.changing() != 0) graph->given = launches;
  graph->stream = launches[0].stream;
  const Result<void*> prepared = device_.prepare(launches);
  if (!prepared) return tl::unexpected(prepared.error());
  graph->prepared = *prepared;
  ++made_;
  own.push_back(graph.get());
  all_.push_back(std::move(graph));
  return {};
}

bool Graphs::runs(Graph& graph) {
  if (graph.ticket != 0 && graph.marked && device_.done(graph.prepared)) {
    graph.ticket = 0;
    graph.marked = false;
  }
  return graph.ticket != 0;
}

Submission Graphs::submit(const Launches& launches, std::vector<Graph*>& own) {
  Graph* graph = nullptr;
  const bool changes = launches.changing() != 0;
  if (!own.empty()) {
    // The oldest submission is done first, and some runtimes take long to tell of an event (HIP 5).
    const auto oldest = std::ranges::min_element(own, {}, &Graph::ticket);
    if (!changes || !runs(**oldest)) graph = *oldest;
    if (graph != nullptr && graph->updates >= kUpdatesOfOneGraph) {
      graph->owned = false;
      own.erase(oldest);
      graph = nullptr;
    }
  }
  if (graph == nullptr) {
    // From now on an event tells, because the program's waits do not come in time.
    for (Graph* const one : own) {
      if (!one->marked) one->marked = device_.mark(one->prepared, one->stream);
    }
    return {Submission::Kind::kBusy, "", 0};
  }
  Submission submission;
  for (size_t i = 0; changes && i < launches.size(); ++i) {
    if (!launches[i].changes || graph->given.same_values(i, launches)) continue;
    if (const int error = device_.update(graph->prepared, launches, i); error != 0)
      return {Submission::Kind::kFailed,
              fmt::format("hipGraphExecKernelNodeSetParams returned error {}", error), 0};
    graph->given.set(i, launches);
    ++submission.updates;
  }
  graph->updates += submission.updates;
  if (const int error = device_.launch(graph->prepared, graph->stream); error != 0)
    return {Submission::Kind::kFailed, fmt::format("hipGraphLaunch returned error {}", error), 0};
  graph->ticket = ++ticket_;
  awaited_ = awaited_ || (changes && waits_count_);
  // With one graph alone the program is given the chance to wait by itself.
  graph->marked =
      changes && (own.size() > 1 || !waits_count_) && device_.mark(graph->prepared, graph->stream);
  return submission;
}

void Graphs::give_up(std::vector<Graph*>& own, bool may_mark) {
  for (Graph* const graph : std::exchange(own, {})) {
    graph->owned = false;
    awaited_ = awaited_ || (graph->ticket != 0 && waits_count_);
    if (graph->ticket != 0 && !graph->marked && may_mark)
      graph->marked = device_.mark(graph->prepared, graph->stream);
  }
}

void Graphs::destroy_done() {
  for (size_t i = 0; i < all_.size();) {
    Graph& graph = *all_[i];
    if (graph.owned) {
      ++i;
      continue;
    }
    if (runs(graph)) break;  // others the next time: to look at an event may take long
    device_.destroy(graph.prepared);
    ++destroyed_;
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Graphs::forget_streams() noexcept {
  for (const auto& graph : all_) {
    if (!graph->owned) graph->stream = kNoStream;
  }
}

void Graphs::abandon() noexcept {
  all_.clear();
  awaited_ = false;
}

void Graphs::waited(void* stream, bool any, uint64_t ticket) noexcept {
  if (!waits_count_) return;
  for (const auto& graph : all_) {
    if (graph->ticket > ticket || (!any && graph->stream != stream)) continue;
    graph->ticket = 0;
    graph->marked = false;
  }
  awaited_ = std::ranges::any_of(all_, [](const auto& graph) {
    return graph->ticket != 0 && (!graph->owned || !graph->given.empty());
  });
}

}  // namespace gfxgraph::accelerate
