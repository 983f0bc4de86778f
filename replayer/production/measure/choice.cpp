#include "replayer/production/measure/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "replayer/production/metrics.h"
#include "replayer/step/timing.h"

namespace gfxgraph::replayer {

gfxgraph_way_figures_t Choice::figures(uint32_t way) const {
  if (way >= published_.size()) return {};
  const Published& one = published_[way];
  return {one.runs, one.submit, one.end_to_end};
}

void Choice::open(uint32_t runs) {
  close();
  runs_ = runs;
  state_ = GFXGRAPH_CHOICE_OPEN;
}

void Choice::reserve(const WayOrder& order) {
  for (const uint32_t way : order.all()) {
    for (std::vector<double>* const one :
         {&times_[way].submit, &times_[way].end_to_end, &times_[way].cost})
      one->reserve(runs_);
  }
}

uint32_t Choice::turn(const WayOrder& order) const {
  uint32_t next = GFXGRAPH_WAY_WORK;
  uint32_t least = runs_ + 1;  // with the first one, which does not count
  for (const uint32_t way : order.all()) {
    if (begun_[way] >= least) continue;
    least = begun_[way];
    next = way;
  }
  return next;
}

void Choice::ended(uint32_t way, uint64_t submit, uint64_t end_to_end) {
  constexpr double kNanoseconds = 1000.0;  // in a microsecond
  if (!warm_[way]) {
    warm_[way] = true;
    return;
  }
  Times& times = times_[way];
  if (times.cost.size() >= runs_) return;
  times.submit.push_back(static_cast<double>(submit) / kNanoseconds);
  times.end_to_end.push_back(static_cast<double>(end_to_end) / kNanoseconds);
  times.cost.push_back(std::max(times.submit.back(), times.end_to_end.back()));
}

bool Choice::is_complete(const WayOrder& order) const {
  return std::ranges::all_of(order.all(),
                             [&](uint32_t way) { return times_[way].cost.size() >= runs_; });
}

std::string Choice::choose(WayOrder& order) {
  std::string text;
  const WayOrder measured = order;
  uint32_t best = order.front();
  for (const uint32_t way : measured.all()) {
    const Times& times = times_[way];
    const double submit = summarise(times.submit).median;
    const double end_to_end = summarise(times.end_to_end).median;
    published_[way].runs = times.cost.size();
    published_[way].submit = submit;
    published_[way].end_to_end = end_to_end;
    text += fmt::format("{}{} {:.1f} us to submit, {:.1f} us end to end", text.empty() ? "" : "; ",
                        way_name(way), submit, end_to_end);
    if (clearly_faster(times.cost, times_[best].cost)) best = way;
  }
  text = fmt::format("measured (medians of {}): {}: {} is kept{}", runs_, text, way_name(best),
                     best == measured.front() ? ", no other is faster by more than the spread"
                                              : ", faster by more than the spread");
  order.prefer(best);
  return text;
}

void Choice::close() noexcept {
  state_ = GFXGRAPH_CHOICE_NONE;
  begun_.fill(0);
  warm_.fill(false);
  for (Times& one : times_) {
    one.submit.clear();
    one.end_to_end.clear();
    one.cost.clear();
  }
  for (Published& one : published_) {
    one.runs = 0;
    one.submit = one.end_to_end = 0;
  }
}

}  // namespace gfxgraph::replayer
