#include "replayer/program/rigid.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace gfxgraph::replayer {
namespace {

bool needs_company(const format::Relocation& relocation) {
  return relocation.outside && relocation.source != format::RelocationSource::kMatched;
}

// The distance in bytes from the word to the allocation; 0 if inside, or one past its end.
uint64_t distance(uint64_t word, const AllocationInfo& info) {
  const uint64_t begin = info.begin->recorded_address;
  const uint64_t end = begin + info.extent_bytes;
  if (word < begin) return begin - word;
  return word > end ? word - end : 0;
}

class Grouping {
 public:
  explicit Grouping(const Program& program)
      : program_(program), parent_(program.allocations().size()), reason_(parent_.size()) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  std::vector<RigidGroup> run() {
    const auto& operations = program_.operations();
    for (uint32_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind != OperationKind::kLaunch) continue;
      for (const format::Relocation& relocation : operations[i].launch->relocations) {
        if (!needs_company(relocation)) continue;
        const uint64_t word =
            program_.allocations()[relocation.allocation - 1].begin->recorded_address +
            static_cast<uint64_t>(relocation.addend);
        advance(operations[i].sequence);
        if (seen_.emplace(word, relocation.allocation).second) join(word, relocation.allocation, i);
      }
    }
    std::map<size_t, RigidGroup> groups;
    for (size_t i = 0; i < parent_.size(); ++i) {
      if (program_.allocations()[i].begin == nullptr) continue;
      RigidGroup& group = groups[root(i)];
      group.members.push_back(static_cast<format::AllocationId>(i + 1));
      if (group.reason.empty()) group.reason = reason_[i];
    }
    std::vector<RigidGroup> result;
    for (auto& [key, group] : groups) {
      if (group.members.size() < 2) continue;
      std::ranges::sort(group.members, {}, [&](format::AllocationId id) {
        return program_.allocations()[id - 1].begin->recorded_address;
      });
      result.push_back(std::move(group));
    }
    return result;
  }

 private:
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  // Updates live_ to the allocations that are live at that event.
  void advance(uint64_t sequence) {
    if (changes_.empty() && !gathered_) {
      gathered_ = true;
      for (size_t i = 0; i < parent_.size(); ++i) {
        const AllocationInfo& info = program_.allocations()[i];
        if (info.begin == nullptr || info.begin->array || info.begin->object) continue;
        changes_.emplace_back(info.begin_sequence, i);
        if (info.end != nullptr) changes_.emplace_back(info.end_sequence, i);
      }
      std::ranges::sort(changes_);
    }
    for (; next_ < changes_.size() && changes_[next_].first < sequence; ++next_) {
      const size_t i = changes_[next_].second;
      const uint64_t begin = program_.allocations()[i].begin->recorded_address;
      if (live_.erase({begin, i}) == 0) live_.emplace(begin, i);
      seen_.clear();
    }
  }

  void join(uint64_t word, format::AllocationId nearest, uint32_t operation) {
    const uint64_t away = distance(word, program_.allocations()[nearest - 1]);
    if (away > format::kOutsideMostBytes) return;  // a tagged pointer
    const uint64_t reach = format::outside_reach(away);
    const auto add = [&](size_t i) {
      if (distance(word, program_.allocations()[i]) > reach) return;
      const size_t from = root(i);
      const size_t to = root(nearest - 1);
      if (from == to) return;
      parent_[from] = to;
      if (reason_[to].empty()) reason_[to] = program_.describe(operation);
    };
    // Live allocations do not overlap, so the search downwards ends at the first one out of reach.
    const auto middle = live_.upper_bound({word, SIZE_MAX});
    for (auto at = middle; at != live_.begin();) {
      --at;
      if (distance(word, program_.allocations()[at->second]) > reach) break;
      add(at->second);
    }
    for (auto at = middle; at != live_.end() && at->first - word <= reach; ++at) add(at->second);
  }

  const Program& program_;
  std::vector<size_t> parent_;                        // index = id - 1
  std::vector<std::string> reason_;                   // of roots
  std::vector<std::pair<uint64_t, size_t>> changes_;  // begins and ends, by sequence
  bool gathered_ = false;
  size_t next_ = 0;
  std::set<std::pair<uint64_t, size_t>> live_;                // by recorded address
  std::set<std::pair<uint64_t, format::AllocationId>> seen_;  // since live_ changed
};

}  // namespace

std::vector<RigidGroup> rigid_groups(const Program& program) {
  const auto passes_one = [](const Operation& operation) {
    return operation.kind == OperationKind::kLaunch &&
           std::ranges::any_of(operation.launch->relocations, needs_company);
  };
  if (std::ranges::none_of(program.operations(), passes_one)) return {};
  return Grouping(program).run();
}

}  // namespace gfxgraph::replayer
