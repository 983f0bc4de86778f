#include "check/report/grouping.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace gfxgraph::check {
namespace {

// Orders first events as the program would run on one core.
auto order_of(const Finding& finding) {
  return std::tuple(finding.launch, finding.workgroup[2], finding.workgroup[1],
                    finding.workgroup[0], finding.wave, finding.code_address);
}

void join(Finding& into, Finding&& other) {
  std::vector<Finding::Place> places = std::move(into.places);
  places.insert(places.end(), other.places.begin(), other.places.end());
  std::vector<LaunchRange> in_launches = join_ranges(into.in_launches, other.in_launches);
  const uint64_t events = into.events + other.events;
  const uint64_t lanes_total = into.lanes_total + other.lanes_total;
  if (order_of(other) < order_of(into)) into = std::move(other);
  std::ranges::sort(places, {}, &Finding::Place::code_address);
  into.places = std::move(places);
  into.launches = count_of(in_launches);
  into.in_launches = std::move(in_launches);
  into.events = events;
  into.lanes_total = lanes_total;
}

}  // namespace

void group_by_line(std::vector<Finding>& findings) {
  using Key = std::tuple<FindingClass, std::string, std::string, uint32_t, uint32_t, bool>;
  std::map<Key, size_t> groups;
  std::vector<Finding> result;
  for (Finding& finding : findings) {
    if (!finding.source || finding.source->line == 0) {
      result.push_back(std::move(finding));
      continue;
    }
    const Key key(finding.finding_class, finding.kernel, finding.source->file, finding.source->line,
                  finding.source->column, finding.write);
    const auto [at, added] = groups.emplace(key, result.size());
    if (added)
      result.push_back(std::move(finding));
    else
      join(result[at->second], std::move(finding));
  }
  findings = std::move(result);
}

}  // namespace gfxgraph::check
