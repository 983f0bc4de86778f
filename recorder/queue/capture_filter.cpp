#include "recorder/queue/capture_filter.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace gfxgraph::recorder {

void CaptureFilter::begin(format::StreamId stream, uint32_t thread) {
  *this = {};
  on_ = true;
  thread_ = thread;
  streams_ = {stream};
}

bool CaptureFilter::mine(format::StreamId stream) {
  if (!open_) return false;
  if (by_ == thread_) streams_.insert(stream);
  return streams_.contains(stream);
}

bool CaptureFilter::keep(const format::Marker& marker) {
  using Kind = format::MarkerKind;
  const bool own = ranges_.contains(marker.range);
  switch (marker.kind) {
    case Kind::kName: return true;
    case Kind::kMark: return open_ && by_ == thread_;
    case Kind::kRangeBegin: open_ = open_ || own; break;
    case Kind::kRangeEnd: open_ = open_ && !own; break;
  }
  return own;
}

bool CaptureFilter::keep(const format::EventRecord& record) {
  const bool kept = mine(record.stream);
  (kept ? recorded_ : elsewhere_).insert(record.event);
  (kept ? elsewhere_ : recorded_).erase(record.event);
  return kept;
}

bool CaptureFilter::keep(const format::StreamWait& wait) {
  if (!open_) return false;
  if (recorded_.contains(wait.event)) {
    streams_.insert(wait.stream);
    return true;
  }
  // Of work before the capture: its next run follows that as well.
  if (elsewhere_.contains(wait.event) && mine(wait.stream) && missing_.empty())
    missing_ = "waits for work that another thread gave to a stream outside of the capture";
  return false;
}

bool CaptureFilter::keep(const format::Synchronize& synchronize) {
  if (synchronize.kind == format::SynchronizeKind::kHostFunction)
    return functions_.contains(synchronize.object);
  return open_ && by_ == thread_;
}

bool CaptureFilter::keep(const format::HostFunction& function) {
  const bool kept = mine(function.stream);
  if (kept && function.id != 0) functions_.insert(function.id);
  return kept;
}

bool CaptureFilter::keep(const format::GraphLaunch& launch) {
  if (!mine(launch.stream)) return false;
  if (launch.first_host_function != 0) {
    for (uint32_t i = 0; i < graph_functions_[launch.graph]; ++i)
      functions_.insert(launch.first_host_function + i);
  }
  return true;
}

template <typename Other>
bool CaptureFilter::keep(const Other& other) {
  if constexpr (std::is_same_v<Other, format::Launch>) {
    const bool kept = mine(other.stream);
    launches_ += kept ? 1 : 0;
    return kept;
  } else if constexpr (std::is_same_v<Other, format::Copy> ||
                       std::is_same_v<Other, format::Memset>) {
    return mine(other.stream);
  } else {
    return true;
  }
}

bool CaptureFilter::keeps(const format::Event& event) {
  by_ = event.thread;
  return std::visit([this](const auto& action) { return keep(action); }, event.action);
}

void CaptureFilter::see(const format::Graph& graph) {
  graph_functions_[graph.id] =
      static_cast<uint32_t>(std::ranges::count_if(graph.nodes, [](const format::GraphNode& node) {
        return std::holds_alternative<format::HostFunction>(node.action);
      }));
}

}  // namespace gfxgraph::recorder
