// Times of runs on the host, in microseconds.
#pragma once

#include <cstddef>
#include <vector>

namespace gfxgraph::replayer {

struct Timing {
  std::vector<double> samples;  // in the order in which they were taken
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
Timing summarise(std::vector<double> samples);
// Whether runs took less time than others by more than the spread of both: nine of ten against nine
// of ten. No: too few of either to have a spread.
bool clearly_faster(const std::vector<double>& runs, const std::vector<double>& others);
inline constexpr size_t kLeastRuns = 3;  // for a spread

struct Measurement {
  Timing submit;      // from the call of run() to its return
  Timing end_to_end;  // until the work is complete
};

}  // namespace gfxgraph::replayer
