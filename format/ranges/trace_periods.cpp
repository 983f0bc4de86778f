#include "format/ranges/trace_periods.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "base/hash.h"
#include "format/ranges/repeats.h"
#include "format/ranges/work_shape.h"

namespace gfxgraph::ranges {
namespace {

bool is_launch(const format::Action& action) {
  return std::holds_alternative<format::Launch>(action) ||
         std::holds_alternative<format::GraphLaunch>(action);
}

// For each graph: the kernels that one launch executes.
std::vector<uint64_t> count_graph_kernels(const format::Trace& trace) {
  std::vector<uint64_t> kernels;
  for (const format::Graph& graph : trace.graphs()) {
    kernels.push_back(
        static_cast<uint64_t>(std::ranges::count_if(graph.nodes, [](const format::GraphNode& node) {
          return std::holds_alternative<format::Launch>(node.action);
        })));
  }
  return kernels;
}

// The host continues only when the device has reached this work. A blocking copy of bytes from the
// host does not count: a step may begin with several.
bool waits(const format::Action& action) {
  if (const auto* copy = std::get_if<format::Copy>(&action)) {
    return !copy->asynchronous && copy->source.allocation != 0;
  }
  return std::holds_alternative<format::Synchronize>(action);
}

class Finder {
 public:
  explicit Finder(const format::Trace& trace)
      : trace_(trace), graph_kernels_(count_graph_kernels(trace)) {}

  std::vector<Period> run() {
    collect();
    std::vector<Repeat> chosen = choose(all_repeats());
    std::vector<Period> periods;
    for (const Repeat& repeat : chosen) periods.push_back(describe(repeat));
    return periods;
  }

 private:
  // The works outside all ranges, and where ranges separate them.
  void collect() {
    const WorkShapes shapes(trace_);
    std::unordered_map<uint64_t, uint32_t, SeededHash> numbers;  // number of each shape
    std::unordered_set<format::RangeId, SeededHash> open;
    uint64_t launches = 0;
    uint64_t kernels = 0;
    bool waited = false;
    for (const format::Event& event : trace_.events()) {
      if (const auto* marker = std::get_if<format::Marker>(&event.action)) {
        if (marker->kind == format::MarkerKind::kRangeBegin) open.insert(marker->range);
        if (marker->kind == format::MarkerKind::kRangeEnd) open.erase(marker->range);
        if (marker->kind != format::MarkerKind::kMark && sections_.back() != tokens_.size()) {
          sections_.push_back(tokens_.size());
        }
        continue;
      }
      const uint64_t shape = open.empty() ? shapes.of(event.action) : 0;
      if (shape != 0) {
        const auto next = static_cast<uint32_t>(numbers.size());
        tokens_.push_back(numbers.try_emplace(shape, next).first->second);
        events_.push_back(event.sequence);
        launches_.push_back(launches);
        kernels_.push_back(kernels);
        launch_tokens_.push_back(launch_tokens_.back() + is_launch(event.action));
        waited_.push_back(waited);
        waited = false;
      }
      waited = waited || waits(event.action);
      launches += is_launch(event.action);
      kernels += kernels_of(event.action);
    }
    kernels_.push_back(kernels);
    sections_.push_back(tokens_.size());
  }

  uint64_t kernels_of(const format::Action& action) const {
    const auto* launch = std::get_if<format::GraphLaunch>(&action);
    if (launch == nullptr) return std::holds_alternative<format::Launch>(action);
    const bool known = launch->graph != 0 && launch->graph <= graph_kernels_.size();
    return known ? graph_kernels_[launch->graph - 1] : 0;
  }

  std::vector<Repeat> all_repeats() const {
    std::vector<Repeat> all;
    for (size_t n = 1; n < sections_.size(); ++n) {
      const size_t from = sections_[n - 1];
      const std::span tokens = std::span(tokens_).subspan(from, sections_[n] - from);
      if (tokens.size() < least_cover()) continue;
      for (Repeat repeat : find_repeats(tokens, kLeastRepeats)) {
        repeat.begin += from;
        repeat.end += from;
        if (is_worth(repeat)) all.push_back(repeat);
      }
    }
    return all;
  }

  size_t least_cover() const {
    return std::max<size_t>(kLeastRepeats, (tokens_.size() + kLeastPart - 1) / kLeastPart);
  }
  static size_t cover(const Repeat& repeat) {
    const size_t length = repeat.end - repeat.begin;
    return length - length % repeat.period;
  }
  uint64_t launches_of(size_t from, size_t length) const {
    return launch_tokens_[from + length] - launch_tokens_[from];
  }
  bool is_worth(const Repeat& repeat) const {
    return repeat.end >= repeat.begin + kLeastRepeats * repeat.period &&
           cover(repeat) >= least_cover();
  }

  std::vector<Repeat> choose(std::vector<Repeat> repeats) const {
    std::ranges::sort(repeats, [](const Repeat& one, const Repeat& other) {
      if (cover(one) != cover(other)) return cover(one) > cover(other);
      if (one.period != other.period) return one.period > other.period;
      return one.begin < other.begin;
    });
    std::vector<Repeat> chosen;
    for (Repeat repeat : repeats) {
      if (chosen.size() == kMostPeriods) break;
      // Two stretches may share a few works at their ends.
      for (const Repeat& other : chosen) {
        if (repeat.begin < other.begin) {
          repeat.end = std::min(repeat.end, other.begin);
        } else {
          repeat.begin = std::max(repeat.begin, other.end);
        }
      }
      if (repeat.begin >= repeat.end || !is_worth(repeat)) continue;
      if (launches_of(repeat.begin, repeat.period) == 0 || !holds(repeat)) continue;
      chosen.push_back(after_wait(repeat));
    }
    std::ranges::sort(chosen, {}, &Repeat::begin);
    return chosen;
  }

  // The hashes indicate that it repeats.
  bool holds(const Repeat& repeat) const {
    return std::equal(tokens_.begin() + static_cast<ptrdiff_t>(repeat.begin + repeat.period),
                      tokens_.begin() + static_cast<ptrdiff_t>(repeat.end),
                      tokens_.begin() + static_cast<ptrdiff_t>(repeat.begin));
  }

  // Whole repetitions from the first work on before which the host waits in each of them.
  Repeat after_wait(Repeat repeat) const {
    std::vector<size_t> waited(repeat.period, 0);
    for (size_t i = repeat.begin; i < repeat.end; ++i) {
      waited[(i - repeat.begin) % repeat.period] += waited_[i];
    }
    for (size_t shift = 0; shift < repeat.period; ++shift) {
      const size_t length = repeat.end - repeat.begin - shift;
      if (length < kLeastRepeats * repeat.period) break;
      // Anything may precede the first work of the stretch.
      const bool unknown = shift == 0 && !waited_[repeat.begin];
      const size_t places = (length + repeat.period - 1) / repeat.period;
      if (waited[shift] + unknown < places) continue;
      repeat.begin += shift;
      break;
    }
    repeat.end = repeat.begin + cover(repeat);
    return repeat;
  }

  Period describe(const Repeat& repeat) const {
    Period period;
    period.repeats = (repeat.end - repeat.begin) / repeat.period;
    period.works = repeat.period;
    period.covers = repeat.end - repeat.begin;
    period.launches = launches_of(repeat.begin, repeat.period);
    period.first_launch = launches_[repeat.begin];
    period.last_launch = period.first_launch + period.launches * period.repeats - 1;
    period.first_kernel = kernels_[repeat.begin];
    period.kernels = kernels_[repeat.begin + repeat.period] - period.first_kernel;
    period.first_event = events_[repeat.begin];
    period.last_event = events_[repeat.end - 1];
    uint64_t from = period.first_event;
    const auto& events = trace_.events();
    while (from > 0 && std::holds_alternative<format::HostWrite>(events[from - 1].action)) --from;
    for (uint64_t n = 0; n < period.repeats; ++n) {
      const uint64_t end = events_[repeat.begin + (n + 1) * repeat.period - 1] + 1;
      period.iterations.push_back({from, end, n});
      from = end;
    }
    return period;
  }

  const format::Trace& trace_;
  std::vector<uint64_t> graph_kernels_;  // by graph
  std::vector<uint32_t> tokens_;
  std::vector<uint64_t> events_;            // by token
  std::vector<uint64_t> launches_;          // of the trace before each token
  std::vector<uint64_t> kernels_;           // the same
  std::vector<uint64_t> launch_tokens_{0};  // that are launches, among the first n
  std::vector<bool> waited_;                // the host, since the token before
  std::vector<size_t> sections_{0};
};

}  // namespace

std::vector<Period> find_periods(const format::Trace& trace) { return Finder(trace).run(); }

std::vector<IterationGroup> group_periods(const std::vector<Period>& periods) {
  std::vector<IterationGroup> groups;
  for (const Period& period : periods) {
    groups.push_back({fmt::format("period {}", groups.size() + 1), 0, period.iterations});
  }
  return groups;
}

}  // namespace gfxgraph::ranges
