// Durations as the C ABI shows them.
#pragma once

#include "gfxgraph/production.h"
#include "replayer/production/histogram.h"

namespace gfxgraph::replayer {

inline gfxgraph_latency_t latency_of(const Durations& durations) {
  constexpr double kNanoseconds = 1000.0;  // in a microsecond
  const auto microseconds = [&](double share) {
    return static_cast<double>(durations.percentile(share)) / kNanoseconds;
  };
  return {durations.count(),  static_cast<double>(durations.sum()) / kNanoseconds,
          microseconds(0.5),  microseconds(0.9),
          microseconds(0.99), static_cast<double>(durations.most()) / kNanoseconds};
}

}  // namespace gfxgraph::replayer
