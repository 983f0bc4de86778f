#include "replayer/step/argument_sets.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfxgraph::replayer {

Result<void> ArgumentSets::keep(Step& step, uint64_t size, Step& other) {
  GFXGRAPH_TRY(check_same_work(step.instance(), other.instance()));
  GFXGRAPH_ASSIGN_OR_RETURN(StepArguments arguments, other.arguments());
  if (max_bytes_ != 0 && arguments.bytes() > max_bytes_) {
    return fail(Status::kUnsupported,
                fmt::format("the set has {} bytes, and there are {} for all sets",
                            arguments.bytes(), max_bytes_));
  }
  sets_[size] = {std::move(arguments), ++uses_};
  drop_beyond(size);
  return {};
}

void ArgumentSets::drop_beyond(uint64_t kept) {
  while (max_bytes_ != 0 && info().bytes > max_bytes_) {
    auto oldest = sets_.end();
    for (auto one = sets_.begin(); one != sets_.end(); ++one) {
      if (one->first == kept) continue;
      if (oldest == sets_.end() || one->second.last_use < oldest->second.last_use) oldest = one;
    }
    if (oldest == sets_.end()) return;
    sets_.erase(oldest);
    ++info_.dropped;
  }
}

Result<uint64_t> ArgumentSets::use(Step& step, uint64_t size) {
  const auto found = sets_.lower_bound(size);
  if (found == sets_.end()) {
    ++info_.missed;
    return fail(Status::kNotFound,
                fmt::format("no set for {} items is kept: the largest of {} is "
                            "for {}",
                            size, sets_.size(), sets_.empty() ? 0 : sets_.rbegin()->first));
  }
  auto& [chosen, set] = *found;
  GFXGRAPH_TRY(step.set_arguments(set.arguments));
  set.last_use = ++uses_;
  ++info_.used;
  info_.items += size;
  info_.padding += chosen - size;
  return chosen;
}

ArgumentSetsInfo ArgumentSets::info() const {
  ArgumentSetsInfo info = info_;
  info.sets = sets_.size();
  for (const auto& [size, set] : sets_) info.bytes += set.arguments.bytes();
  return info;
}

}  // namespace gfxgraph::replayer
