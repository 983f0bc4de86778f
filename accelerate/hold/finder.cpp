#include "accelerate/hold/finder.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::accelerate {
namespace {

struct Stretch {
  size_t begin = 0;
  size_t count = 0;
  size_t changed = 0;  // of these: the arguments are others

  size_t same() const noexcept { return count - changed; }
  bool is_worth(size_t shortest) const noexcept {
    return count >= shortest && changed * 2 <= count;
  }
  bool changes_little() const noexcept { return changed * 4 <= count; }
  // Most that are the same; of as many, the one with a few more that change.
  bool is_better_than(const Stretch& other) const noexcept {
    return same() > other.same() ||
           (same() == other.same() && count > other.count && changes_little());
  }
};

bool may_differ(const Launches& left, size_t i, const Launches& right, size_t j) noexcept {
  return left.alike(i, right, j) && !is_memory_work(left[i].form);
}

// The one with most launches that are the same at the same place of both: an argument that changes
// is at the same place of each run. `exact`: without any that changes. It begins and ends with
// launches that are the same, unless few of all that are alike change.
Stretch longest_common(const Launches& left, const Launches& right, size_t shortest,
                       bool exact) noexcept {
  Stretch longest;
  Stretch now;   // all that are alike so far
  Stretch part;  // what of these is worth most
  const size_t size = std::min(left.size(), right.size());
  for (size_t i = 0; i <= size; ++i) {
    const bool same = i < size && left.same(i, right, i);
    if (same || (i < size && !exact && may_differ(left, i, right, i))) {
      ++now.count;
      if (!same) ++now.changed;
      if (now.is_worth(shortest) && now.same() > part.same()) part = now;
      continue;
    }
    if (now.is_worth(shortest) && now.changes_little()) part = now;
    if (part.is_better_than(longest)) longest = part;
    now = part = {i + 1, 0, 0};
  }
  return longest;
}

}  // namespace

std::optional<Launches> Finder::end() {
  std::optional<Launches> found;
  if (run_.size() >= kLongest) found = period();
  if (!found && run_.size() >= shortest_) {
    Stretch longest;
    const Launches* other = nullptr;
    for (const bool exact : {true, false}) {
      if (!exact && only_equal_) break;
      for (const Launches& earlier : runs_) {
        const Stretch common = longest_common(run_, earlier, shortest_, exact);
        if (!common.is_better_than(longest)) continue;
        longest = common;
        other = &earlier;
      }
    }
    if (other != nullptr) {
      found = run_.part(longest.begin, longest.count);
      for (size_t i = 0; i < longest.count; ++i) {
        if (!run_.same(longest.begin + i, *other, longest.begin + i)) found->let_change(i);
      }
    }
  }
  if (run_.size() >= shortest_) {
    runs_.push_front(std::exchange(run_, {}));
    if (runs_.size() > kRuns) runs_.pop_back();
  }
  run_.clear();
  return found;
}

// The end of the run decides: its beginning may be something else. Of several periods (a step has
// loops of its own) the one that most launches follow and stay the same by.
std::optional<Launches> Finder::period() const {
  const size_t size = run_.size();
  size_t best = 0;
  size_t best_worth = 0;
  bool best_exact = false;
  for (size_t period = 1; period <= size / 2 && best_worth < size; ++period) {
    size_t reach = period;
    size_t changed = 0;
    for (; reach < size; ++reach) {
      const size_t i = size - 1 - reach;
      if (run_.same(i, run_, i + period)) continue;
      if (only_equal_ || !may_differ(run_, i, run_, i + period)) break;
      ++changed;
    }
    const size_t compared = reach - period;
    if (compared < period || changed * 2 > compared) continue;
    // As far as it reaches, less the share that changes. A longer period is much better, or is not.
    const size_t worth = reach * (compared - changed) / compared;
    if (worth * 20 <= best_worth * 21) continue;
    best = period;
    best_worth = worth;
    best_exact = changed == 0;
  }
  if (best == 0) return std::nullopt;
  return repeated(best, best_exact);
}

// Short periods several times, so that a sequence is worth its submission.
std::optional<Launches> Finder::repeated(size_t period, bool exact) const {
  constexpr size_t kWorthwhile = 64;
  const size_t size = run_.size();
  const size_t times = std::max<size_t>(1, kWorthwhile / period);
  // How far back the period reaches.
  size_t reach = period;
  while (reach < size) {
    const size_t i = size - 1 - reach;
    if (!run_.same(i, run_, i + period) && (exact || !may_differ(run_, i, run_, i + period))) break;
    ++reach;
  }
  const size_t count = period * std::min(times, reach / period);
  if (count < shortest_) return std::nullopt;
  // It begins with what is rarest in it: a loop's kernel would make it begin anywhere in the loop.
  size_t begin = size - count;
  size_t fewest = period + 1;
  for (size_t from = begin; from + period > size - count && from + reach >= size; --from) {
    size_t times_there = 0;
    for (size_t i = from; i < from + period; ++i) times_there += run_.alike(i, run_, from) ? 1 : 0;
    if (times_there < fewest) {
      fewest = times_there;
      begin = from;
    }
    if (from == 0) break;
  }
  Launches found = run_.part(begin, count);
  if (exact) return found;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = begin + i;
    if (at >= period && !run_.same(at, run_, at - period)) found.let_change(i);
    if (at + period < size && !run_.same(at, run_, at + period)) found.let_change(i);
  }
  if (found.changing() * 2 > count) return std::nullopt;
  return found;
}

void Finder::forget() noexcept {
  run_.clear();
  runs_.clear();
}

}  // namespace gfxgraph::accelerate
