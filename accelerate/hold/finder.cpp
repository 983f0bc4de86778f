#include "accelerate/hold/finder.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::accelerate {
namespace {

struct Stretch {
  size_t begin = 0;
  size_t count = 0;
};

// The longest that both have at the same place: an argument that changes is at the same place of
// each run.
Stretch longest_common(const Launches& left, const Launches& right) noexcept {
  Stretch longest;
  Stretch now;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (!left.same(i, right, i)) {
      now = {i + 1, 0};
      continue;
    }
    ++now.count;
    if (now.count > longest.count) longest = now;
  }
  return longest;
}

}  // namespace

std::optional<Launches> Finder::end() {
  std::optional<Launches> found;
  if (run_.size() >= kLongest) found = period();
  if (!found && run_.size() >= shortest_) {
    Stretch longest;
    for (const Launches& earlier : runs_) {
      const Stretch common = longest_common(run_, earlier);
      if (common.count > longest.count) longest = common;
    }
    if (longest.count >= shortest_) found = run_.part(longest.begin, longest.count);
  }
  if (run_.size() >= shortest_) {
    runs_.push_front(std::exchange(run_, {}));
    if (runs_.size() > kRuns) runs_.pop_back();
  }
  run_.clear();
  return found;
}

// The end of the run decides: its beginning may be something else.
std::optional<Launches> Finder::period() const {
  const size_t size = run_.size();
  for (size_t period = 1; period <= size / 2; ++period) {
    size_t same = 0;
    while (same < period && run_.same(size - 1 - same, run_, size - 1 - same - period)) ++same;
    if (same < period) continue;
    // Short periods several times, so that a sequence is worth its submission.
    constexpr size_t kWorthwhile = 64;
    const size_t times = std::max<size_t>(1, kWorthwhile / period);
    // How far back the period reaches.
    size_t reach = period;
    while (reach < size && run_.same(size - 1 - reach, run_, size - 1 - reach + period)) ++reach;
    const size_t count = period * std::min(times, reach / period);
    if (count < shortest_) return std::nullopt;
    return run_.part(size - count, count);
  }
  return std::nullopt;
}

void Finder::forget() noexcept {
  run_.clear();
  runs_.clear();
}

}  // namespace gfxgraph::accelerate
