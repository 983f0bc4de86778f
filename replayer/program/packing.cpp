#include "replayer/program/packing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/reachability.h"
#include "replayer/program/dag.h"
#include "replayer/program/rigid.h"

namespace gfxgraph::replayer {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// The lifetime of an allocation that may share memory.
struct Life {
  format::AllocationId allocation = 0;
  uint64_t begin = 0, end = 0;  // events
  uint64_t size_bytes = 0;      // aligned
  uint32_t first_use = kNone;
  // The last operations that can use it: no other such operation follows them.
  std::vector<uint32_t> last_uses = {};
  size_t stretch = 0;  // the stretch between range borders in which it lies
};

// Returns nothing if the second pass over the trace fails.
std::optional<std::vector<uint64_t>> borders(const Program& program,
                                             const SessionOptions& options) {
  if (options.only_range) {
    return std::vector{options.only_range->first_event, options.only_range->end_event};
  }
  std::vector<uint64_t> result;
  const auto look = [&](const format::Event& event) -> Result<void> {
    const auto* const marker = std::get_if<format::Marker>(&event.action);
    if (marker != nullptr && (marker->kind == format::MarkerKind::kRangeBegin ||
                              marker->kind == format::MarkerKind::kRangeEnd)) {
      result.push_back(event.sequence);
    }
    return {};
  };
  if (!program.trace().visit_events(format::kinds_of<format::Marker>(), look)) return std::nullopt;
  return result;
}

// The number of operations issued before the event.
uint32_t issued_before(const Program& program, uint64_t event) {
  const auto found =
      std::ranges::lower_bound(program.operations(), event, {}, &Operation::sequence);
  return static_cast<uint32_t>(found - program.operations().begin());
}

template <typename Visit>
void visit_named(const Operation& operation, const Visit& visit) {
  const auto words = [&](const std::vector<format::Relocation>& relocations) {
    for (const format::Relocation& word : relocations) visit(word.allocation);
  };
  switch (operation.kind) {
    case OperationKind::kLaunch: words(operation.launch->relocations); break;
    case OperationKind::kCopy:
      visit(operation.copy->source.allocation);
      visit(operation.copy->destination.allocation);
      words(operation.copy->host_source.relocations);
      break;
    case OperationKind::kMemset: visit(operation.memset->allocation); break;
  }
}

class Planner {
 public:
  Planner(const Program& program, const SessionOptions& options)
      : program_(program), life_of_(program.allocations().size(), kNone) {
    const std::optional<std::vector<uint64_t>> found = borders(program, options);
    if (!found) return;  // then nothing shares memory
    find_lives(*found);
    for (const Binding& binding : options.bindings) exclude(binding.allocation);
    for (const RigidGroup& group : rigid_groups(program)) {
      for (const format::AllocationId id : group.members) exclude(id);
    }
  }

  Packing plan() {
    exclude_named_elsewhere();
    if (!any_pair()) return {};
    if (!find_order()) return {};
    find_last_uses();
    return pack();
  }

 private:
  void find_lives(std::vector<uint64_t> borders) {
    std::ranges::sort(borders);
    const auto stretch = [&](uint64_t event) {
      return static_cast<size_t>(std::ranges::upper_bound(borders, event) - borders.begin());
    };
    // Kernels use them without a word that leads to them.
    std::vector<bool> in_images(program_.allocations().size());
    for (const AllocationInfo& info : program_.allocations()) {
      if (info.begin != nullptr && info.begin->object)
        in_images[info.begin->object->allocation - 1] = true;
    }
    for (const AllocationInfo& info : program_.allocations()) {
      if (info.begin == nullptr || info.end == nullptr || !info.end->freed) continue;
      if (in_images[info.begin->id - 1]) continue;
      if (info.begin->kind != format::AllocationKind::kDevice &&
          info.begin->kind != format::AllocationKind::kStreamOrdered) {
        continue;
      }
      const std::optional<uint64_t> size = checked_align_up(info.extent_bytes, kArenaAlignment);
      if (!info.begin->initial.unwritten || !size || *size == 0) continue;
      if (stretch(info.begin_sequence) != stretch(info.end_sequence)) continue;
      lives_.push_back({info.begin->id, info.begin_sequence, info.end_sequence, *size});
      lives_.back().stretch = stretch(info.begin_sequence);
    }
    // If no operation is known to use it, the first one after its beginning.
    for (Life& life : lives_) {
      const uint32_t next = issued_before(program_, life.begin);
      if (next == program_.operations().size() ||
          stretch(program_.operations()[next].sequence) != life.stretch) {
        continue;
      }
      life.first_use = next;
    }
    std::erase_if(lives_, [](const Life& life) { return life.first_use == kNone; });
    std::ranges::sort(lives_, {}, &Life::begin);
    for (size_t i = 0; i < lives_.size(); ++i)
      life_of_[lives_[i].allocation - 1] = static_cast<uint32_t>(i);
  }

  Life* life_of(format::AllocationId id) {
    if (id == 0 || id > life_of_.size() || life_of_[id - 1] == kNone) return nullptr;
    return &lives_[life_of_[id - 1]];
  }
  void exclude(format::AllocationId id) {
    if (id != 0 && id <= life_of_.size()) life_of_[id - 1] = kNone;
  }
  bool excluded(const Life& life) const { return life_of_[life.allocation - 1] == kNone; }

  // Excludes allocations that are named outside of operations, or by operations outside of their
  // lifetimes: their addresses may be known at any time. Sets first_use of the others.
  void exclude_named_elsewhere() {
    const auto exclude_all = [&](const std::vector<format::Relocation>& words) {
      for (const format::Relocation& word : words) exclude(word.allocation);
    };
    for (const AllocationInfo& info : program_.allocations()) {
      if (info.begin != nullptr) exclude_all(info.begin->initial.relocations);
    }
    for (const format::HostWrite* write : program_.host_writes())
      exclude_all(write->content.relocations);
    std::vector<bool> named(lives_.size());
    for (uint32_t i = 0; i < program_.operations().size(); ++i) {
      const Operation& operation = program_.operations()[i];
      visit_named(operation, [&](format::AllocationId id) {
        Life* const life = life_of(id);
        if (life == nullptr) return;
        if (operation.sequence < life->begin || operation.sequence > life->end) {
          exclude(id);
          return;
        }
        const size_t at = life_of_[id - 1];
        if (named[at]) return;
        named[at] = true;
        life->first_use = i;
      });
    }
    drop_excluded();
  }

  void drop_excluded() {
    std::erase_if(lives_, [&](const Life& life) { return excluded(life); });
    for (size_t i = 0; i < lives_.size(); ++i)
      life_of_[lives_[i].allocation - 1] = static_cast<uint32_t>(i);
  }

  // Whether any lifetime ends before another begins. Requires them sorted by their beginnings.
  bool any_pair() const {
    uint64_t first_end = UINT64_MAX;
    for (size_t i = 0; i < lives_.size(); ++i) {
      if (i != 0 && lives_[i].stretch != lives_[i - 1].stretch) first_end = UINT64_MAX;
      if (first_end < lives_[i].begin) return true;
      first_end = std::min(first_end, lives_[i].end);
    }
    return false;
  }

  // Fills reach_, and keeps allocations whose first use precedes all other uses. Returns false if
  // the program has so many streams that the DAG has edges which eager mode does not enforce.
  bool find_order() {
    Dag dag = build_dag(program_);
    if (dag.lanes >= Reachability::kMaxLanes) return false;
    for (std::vector<uint32_t>& dependencies : dag.dependencies) reach_.add(dependencies);
    for (uint32_t i = 0; i < program_.operations().size(); ++i) {
      visit_named(program_.operations()[i], [&](format::AllocationId id) {
        const Life* const life = life_of(id);
        if (life != nullptr && !reach_.reaches(life->first_use, i)) exclude(id);
      });
    }
    drop_excluded();
    return true;
  }

  // A lane is a chain of operations: the last one issued there before the allocation was freed
  // follows all other uses in the lane, so that it alone has to be ordered.
  void find_last_uses() {
    std::vector<std::pair<uint32_t, Life*>> ends;
    for (Life& life : lives_) ends.emplace_back(issued_before(program_, life.end), &life);
    std::ranges::sort(ends);
    std::vector<uint32_t> last(reach_.lanes(), kNone);
    uint32_t operation = 0;
    for (const auto& [end, life] : ends) {
      for (; operation < end; ++operation) last[reach_.lane(operation)] = operation;
      life->last_uses = {life->first_use};
      for (const uint32_t use : last) {
        if (use != kNone && use > life->first_use && reach_.reaches(life->first_use, use)) {
          life->last_uses.push_back(use);
        }
      }
    }
  }

  bool ordered(const Life& earlier, const Life& later) const {
    return earlier.end < later.begin &&
           std::ranges::all_of(
               earlier.last_uses,
               [&](uint32_t use) { return reach_.reaches(use, later.first_use); });
  }

  struct Block {
    uint64_t begin = 0, end = 0;
    uint32_t life = 0;     // the current or last owner
    uint64_t of_life = 0;  // offset of the block in the owner
  };

  // First fit, in recorded order: the lowest offset whose owners are all done. Each stretch gets
  // memory behind that of all earlier ones.
  Packing pack() {
    Packing packing;
    std::vector<Block> blocks;
    uint64_t base = 0;
    for (uint32_t i = 0; i < lives_.size(); ++i) {
      const Life& life = lives_[i];
      if (i != 0 && life.stretch != lives_[i - 1].stretch) {
        base = packing.arena_bytes;
        blocks.clear();
      }
      uint64_t at = base;
      for (const Block& block : blocks) {
        if (at + life.size_bytes <= block.begin) break;
        if (!ordered(lives_[block.life], life)) at = block.end;
      }
      const std::optional<uint64_t> end = checked_add(at, life.size_bytes);
      if (!end) return {};  // exceeds the address space
      packing.tenants.push_back({life.allocation, at, false, false});
      packing.turnovers.push_back({life.first_use, life.allocation, at, life.size_bytes, {}});
      take(packing, blocks, {at, *end, i, 0});
      packing.arena_bytes = std::max(packing.arena_bytes, *end);
    }
    return finish(std::move(packing));
  }

  // Gives the bytes to a new owner.
  void take(Packing& packing, std::vector<Block>& blocks, const Block& taken) {
    std::vector<Block> now;
    now.reserve(blocks.size() + 2);
    bool placed = false;
    const auto place = [&] {
      if (!std::exchange(placed, true)) now.push_back(taken);
    };
    for (const Block& block : blocks) {
      if (block.end <= taken.begin) {
        now.push_back(block);
        continue;
      }
      if (block.begin >= taken.end) {
        place();
        now.push_back(block);
        continue;
      }
      if (block.begin < taken.begin)
        now.push_back({block.begin, taken.begin, block.life, block.of_life});
      const uint64_t begin = std::max(block.begin, taken.begin);
      const uint64_t end = std::min(block.end, taken.end);
      const uint64_t of_life = block.of_life + (begin - block.begin);
      packing.turnovers[taken.life].ended.push_back(
          {lives_[block.life].allocation, of_life, end - begin, begin, packing.kept_bytes});
      packing.kept_bytes = checked_add(packing.kept_bytes, end - begin).value_or(UINT64_MAX);
      packing.tenants[block.life].shares = packing.tenants[block.life].reused = true;
      packing.tenants[taken.life].shares = true;
      place();
      if (block.end > taken.end)
        now.push_back({end, block.end, block.life, of_life + (end - begin)});
    }
    place();
    blocks = std::move(now);
  }

  static Packing finish(Packing packing) {
    std::vector<Turnover> turnovers;
    for (size_t i = 0; i < packing.tenants.size(); ++i) {
      if (packing.tenants[i].shares) turnovers.push_back(std::move(packing.turnovers[i]));
    }
    if (turnovers.empty()) return {};
    packing.turnovers = std::move(turnovers);
    std::ranges::stable_sort(packing.turnovers, {}, &Turnover::operation);
    return packing;
  }

  const Program& program_;
  std::vector<Life> lives_;        // by begin
  std::vector<uint32_t> life_of_;  // index = id - 1
  Reachability reach_;
};

}  // namespace

Packing plan_packing(const Program& program, const SessionOptions& options) {
  if (options.memory == MemoryUse::kApart) return {};
  return Planner(program, options).plan();
}

}  // namespace gfxgraph::replayer
