#include "tools/info/order_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "format/ranges/range_parameters.h"
#include "format/ranges/trace_periods.h"
#include "format/walk.h"

namespace gfxgraph::tools {

std::vector<footprint::OpenArgument> varying_arguments(const format::Trace& trace) {
  const std::vector<ranges::RangeSummary> marked = ranges::summarize_ranges(trace);
  const std::vector<ranges::IterationGroup> groups =
      marked.empty() ? ranges::group_periods(ranges::find_periods(trace))
                     : ranges::group_iterations(marked);
  const ranges::RangeComparisons compared = ranges::compare_iterations(trace, groups);
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> launches;  // by event and node
  uint64_t count = 0;
  format::for_each_launch(trace, [&](const format::PlacedLaunch& placed) {
    launches[{placed.event->sequence, placed.node.value_or(ranges::kNone)}] = count++;
  });
  std::vector<footprint::OpenArgument> open;
  for (const ranges::RangeComparison& comparison : compared.comparisons) {
    for (const ranges::IterationSpan& span : comparison.iterations) {
      const std::vector<uint64_t> works = ranges::works_of(trace, span);
      for (const ranges::Parameter& parameter : comparison.parameters) {
        for (const ranges::Place& place : parameter.places) {
          if (place.kind != ranges::PlaceKind::kArgument || place.work >= works.size()) continue;
          const auto found = launches.find({works[place.work], place.node});
          if (found != launches.end())
            open.push_back({found->second, place.offset_bytes, place.size_bytes});
        }
      }
    }
  }
  std::ranges::stable_sort(open, {}, &footprint::OpenArgument::launch);
  return open;
}

}  // namespace gfxgraph::tools
