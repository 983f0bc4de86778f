#include "replayer/step/timing.h"

#include <algorithm>

namespace gfxgraph::replayer {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(position);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(low);
  return sorted[low] + fraction * (sorted[high] - sorted[low]);
}

}  // namespace

Timing summarise(std::vector<double> samples) {
  Timing timing;
  if (samples.empty()) return timing;
  timing.samples = samples;
  std::sort(samples.begin(), samples.end());
  timing.median = quantile(samples, 0.5);
  timing.p10 = quantile(samples, 0.1);
  timing.p90 = quantile(samples, 0.9);
  return timing;
}

bool clearly_faster(const std::vector<double>& runs, const std::vector<double>& others) {
  if (runs.size() < kLeastRuns || others.size() < kLeastRuns) return false;
  return summarise(runs).p90 < summarise(others).p10;
}

}  // namespace gfxgraph::replayer
