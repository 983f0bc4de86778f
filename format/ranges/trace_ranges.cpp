#include "format/ranges/trace_ranges.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "format/ranges/work_shape.h"

namespace gfxgraph::ranges {
namespace {

// The work from the first event on: a range's work is the difference of two, whatever ranges nest
// in it.
struct Totals {
  uint64_t launches = 0, graph_launches = 0, copies = 0, copy_bytes = 0, memsets = 0;
  uint64_t host_functions = 0, host_writes = 0, synchronizations = 0, allocations = 0;
  uint64_t works = 0;  // number of works in the hash
  uint64_t hash = 0;   // a polynomial in kBase of their shapes
};

constexpr uint64_t kBase = 0x9E3779B97F4A7C15;

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent % 2 != 0) result *= base;
  }
  return result;
}

class Ranges {
 public:
  explicit Ranges(const format::Trace& trace) : trace_(trace), shapes_of_(trace) {
    for (const format::Graph& graph : trace.graphs()) {
      Totals& nodes = graphs_.emplace_back();
      for (const format::GraphNode& node : graph.nodes) {
        std::visit([&](const auto& action) { count(action, nodes); }, node.action);
      }
      nodes.host_functions = 0;  // counted when they are issued
    }
  }

  std::vector<RangeSummary> run() {
    uint64_t events = 0, time_ns = 0;
    const auto look = [&](const format::Event& event) -> Result<void> {
      ++events;
      time_ns = event.time_ns;
      if (const auto* marker = std::get_if<format::Marker>(&event.action)) {
        mark(*marker, event);
      } else {
        std::visit([&](const auto& action) { count(action, totals_); }, event.action);
        if (const uint64_t shape = shapes_of_.of(event.action); shape != 0) add(shape);
      }
      return {};
    };
    GFXGRAPH_CHECK(trace_.visit_events(format::kEveryAction, look).has_value());
    for (auto& [id, open] : open_) finish(open, events, time_ns);
    return std::move(ranges_);
  }

 private:
  struct Open {
    size_t index = 0;  // in ranges_
    Totals before;
    uint64_t time_ns = 0;
  };

  void mark(const format::Marker& marker, const format::Event& event) {
    if (marker.kind == format::MarkerKind::kRangeBegin) {
      open_[marker.range] = {ranges_.size(), totals_, event.time_ns};
      RangeSummary& range = ranges_.emplace_back();
      range.name = marker.text;
      range.ordinal = marker.ordinal;
      range.thread = event.thread;
      range.first_event = event.sequence;
    } else if (const auto found = open_.find(marker.range); found != open_.end()) {
      ranges_[found->second.index].ended = true;
      finish(found->second, event.sequence, event.time_ns);
      open_.erase(found);
    }
  }

  void finish(const Open& open, uint64_t end_event, uint64_t time_ns) {
    const Totals& before = open.before;
    RangeSummary& range = ranges_[open.index];
    range.end_event = end_event;
    range.span_ns = time_ns - open.time_ns;
    range.launches = totals_.launches - before.launches;
    range.graph_launches = totals_.graph_launches - before.graph_launches;
    range.copies = totals_.copies - before.copies;
    range.copy_bytes = totals_.copy_bytes - before.copy_bytes;
    range.memsets = totals_.memsets - before.memsets;
    range.host_functions = totals_.host_functions - before.host_functions;
    range.host_writes = totals_.host_writes - before.host_writes;
    range.synchronizations = totals_.synchronizations - before.synchronizations;
    range.allocations = totals_.allocations - before.allocations;
    const uint64_t works = totals_.works - before.works;
    const uint64_t hash = totals_.hash - before.hash * power(kBase, works);
    const auto next = static_cast<uint32_t>(shapes_.size() + 1);
    range.shape = shapes_.try_emplace({works, hash}, next).first->second;
  }

  void add(uint64_t shape) {
    ++totals_.works;
    totals_.hash = totals_.hash * kBase + shape;
  }

  static void count(const format::Launch&, Totals& totals) { ++totals.launches; }
  static void count(const format::Copy& copy, Totals& totals) {
    ++totals.copies;
    totals.copy_bytes += copy.width_bytes * copy.height * copy.depth;
  }
  static void count(const format::Memset&, Totals& totals) { ++totals.memsets; }
  static void count(const format::HostFunction&, Totals& totals) { ++totals.host_functions; }
  void count(const format::GraphLaunch& launch, Totals& totals) {
    ++totals.graph_launches;
    if (launch.graph == 0 || launch.graph > graphs_.size()) return;
    const Totals& graph = graphs_[launch.graph - 1];
    totals.launches += graph.launches;
    totals.copies += graph.copies;
    totals.copy_bytes += graph.copy_bytes;
    totals.memsets += graph.memsets;
  }
  static void count(const format::HostWrite&, Totals& totals) { ++totals.host_writes; }
  static void count(const format::Synchronize&, Totals& totals) { ++totals.synchronizations; }
  static void count(const format::AllocationBegin&, Totals& totals) { ++totals.allocations; }
  template <typename Action>
  static void count(const Action&, Totals&) {}

  const format::Trace& trace_;
  const WorkShapes shapes_of_;
  Totals totals_;
  std::vector<Totals> graphs_;  // by id
  std::vector<RangeSummary> ranges_;
  std::unordered_map<format::RangeId, Open, SeededHash> open_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> shapes_;
};

}  // namespace

std::vector<RangeSummary> summarize_ranges(const format::Trace& trace) {
  return Ranges(trace).run();
}

}  // namespace gfxgraph::ranges
