#include "accelerate/hold/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gfxgraph::accelerate {
namespace {

// A graph must save this much of the host's time, and may cost as much until the program's own
// wait ends: less is not told from chance by eight runs.
constexpr double kLeastGain = 0.05;
constexpr double kMostLoss = 0.03;
// Fewer waits than this say nothing.
constexpr size_t kLeastWaits = 4;

}  // namespace

double Samples::median() const {
  if (count_ == 0) return 0.0;
  std::vector<double> sorted(us_.begin(), us_.begin() + static_cast<std::ptrdiff_t>(count_));
  std::ranges::sort(sorted);
  return sorted[count_ / 2];
}

Choice choose(const Sequence& sequence) {
  const double calls = sequence.calls.host.median();
  const double graph = sequence.graph.host.median();
  const std::string times = fmt::format("{:.1f} us as a graph, {:.1f} us as calls", graph, calls);
  const bool waits =
      sequence.calls.end.count() >= kLeastWaits && sequence.graph.end.count() >= kLeastWaits;
  const double calls_end = sequence.calls.end.median();
  const double graph_end = sequence.graph.end.median();
  const std::string ends =
      waits ? fmt::format("; with the wait {:.1f} and {:.1f} us", graph_end, calls_end) : "";
  if (graph > calls * (1.0 - kLeastGain)) return {false, "saves no time of the host: " + times};
  if (waits && graph_end > calls_end * (1.0 + kMostLoss))
    return {false, "is done later: " + times + ends};
  return {true, times + ends};
}

}  // namespace gfxgraph::accelerate
