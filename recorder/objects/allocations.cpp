#include "recorder/objects/allocations.h"

#include <algorithm>
#include <utility>

#include "codeobj/code_object.h"

namespace gfxgraph::recorder {

std::vector<std::shared_ptr<Allocation>> Allocations::insert(
    std::shared_ptr<Allocation> allocation) {
  const LaunchLanes::Alone alone(lanes_);
  by_id_[allocation->id] = allocation.get();
  return map_.insert(std::move(allocation));
}

void Allocations::remove(uint64_t address) {
  const LaunchLanes::Alone alone(lanes_);
  map_.remove(address);
}

void Allocations::adopt(std::shared_ptr<Allocation> allocation) {
  {
    const LaunchLanes::Alone alone(lanes_);
    by_id_[allocation->id] = allocation.get();
  }
  adopted_.push_back(std::move(allocation));
}

void Allocations::leave_trace(Allocation& allocation) {
  number(allocation, new_untraced_id());
  by_id_.erase(std::exchange(allocation.former_id, 0));
}

void Allocations::number_anew() {
  by_id_.clear();
  next_untraced_ = UINT32_MAX;
  map_.number_anew([&](Allocation& allocation, bool live) {
    if (by_id(allocation.id) == &allocation) return;  // it has two ranges of addresses
    allocation.former_id = 0;
    allocation.id = new_untraced_id();
    if (live) by_id_[allocation.id] = &allocation;
  });
  words_then_.reset();
  next_id_ = 1;
}

void Allocations::watch_changes(const Allocation& allocation) {
  const auto counts = [](const Allocation& one) {
    return one.reachable && one.watched && !one.plain_host;
  };
  // It may not be in the map yet.
  any_reachable_ =
      counts(allocation) ||
      std::ranges::any_of(map_.host_visible(), [&](const auto& one) { return counts(*one); });
}

void Allocations::learn_code_range(const ModuleEntry& module, const Allocation& variable) {
  if (!module.code || module.code->segments().empty()) return;
  for (const codeobj::Symbol& symbol : module.code->symbols()) {
    if (symbol.undefined || symbol.name != variable.symbol) continue;
    pointers::CodeRange range;
    range.module = &module;
    range.variable = variable.id;
    range.variable_address = variable.address;
    range.variable_bytes = variable.size_bytes;
    range.begin = ~uint64_t{0};
    for (const codeobj::Segment& segment : module.code->segments()) {
      const uint64_t begin = variable.address - symbol.address + segment.address;
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, begin + segment.memory_bytes);
    }
    if (range.begin <= variable.address && variable.address < range.end) {
      const LaunchLanes::Alone alone(lanes_);
      words_.add_code(range);
    }
    return;
  }
}

Allocation* Allocations::allocation_at(uint64_t address, uint64_t& offset) const {
  Allocation* allocation = map_.find(address);
  uint64_t base = allocation == nullptr ? 0 : allocation->address;
  if (allocation == nullptr || address == base + allocation->size_bytes) {
    allocation = map_.find_host(address);
    base = allocation == nullptr ? 0 : allocation->host_address;
  }
  offset = address - base;
  return allocation;
}

void Allocations::number(Allocation& allocation, format::AllocationId id) {
  const LaunchLanes::Alone alone(lanes_);
  by_id_.erase(allocation.former_id);
  allocation.former_id = allocation.id;
  allocation.id = id;
  by_id_[id] = &allocation;
}

Allocation* Allocations::find_seen(uint64_t address) const {
  Allocation* const found = map_.find(address);
  if (found != nullptr && address != found->address + found->size_bytes) return found;
  return map_.find_host(address);
}

void Allocations::hold_value(Allocation& allocation) {
  any_value_ = true;
  if (allocation.holds_values) return;
  const LaunchLanes::Alone alone(lanes_);
  allocation.holds_values = true;
  // Any kernel reaches a variable.
  allocation.kernels_write_values = allocation.kind == format::AllocationKind::kModuleGlobal;
}

void Allocations::forget_code(const void* module) {
  const LaunchLanes::Alone alone(lanes_);
  words_.remove_code(module);
}

void Allocations::follow_host(bool follow) {
  const LaunchLanes::Alone alone(lanes_);
  map_.follow_host(follow);
}

void Allocations::forget_id(const Allocation& allocation) {
  if (departures_ != nullptr) departures_->left(allocation);
  const LaunchLanes::Alone alone(lanes_);
  by_id_.erase(allocation.id);
  by_id_.erase(allocation.former_id);
}

Allocation* Allocations::living(format::AllocationId id) const {
  Allocation* const found = by_id(id);
  return found == nullptr || found->leaving == Allocation::Leaving::kMemory ? nullptr : found;
}

Allocation* Allocations::by_id(format::AllocationId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void Allocations::addresses_reused(const Allocation& entry) {
  if (map_.host_visible().empty()) return;
  const std::vector<format::AllocationId> freed =
      map_.freed_within(entry.address, entry.address + entry.size_bytes);
  for (const std::shared_ptr<Allocation>& allocation : map_.host_visible()) {
    const bool stale = std::ranges::any_of(
        freed, [&](format::AllocationId id) { return allocation->points_to.contains(id); });
    if (!stale) continue;
    allocation->points_to.clear();
    allocation->blocks.know_nothing();
  }
}

std::shared_ptr<const WordsThen> Allocations::words_now() {
  if (!words_then_ || words_then_->map.generation() != map_.generation() ||
      words_then_->words.generation() != words_.generation()) {
    words_then_ = std::make_shared<WordsThen>(map_, words_);
  }
  return words_then_;
}

Allocation* Allocations::find_adopted(uint64_t address, uint64_t size_bytes) const {
  for (const std::shared_ptr<Allocation>& allocation : adopted_) {
    if (address >= allocation->host_address &&
        address - allocation->host_address < allocation->size_bytes &&
        size_bytes <= allocation->size_bytes - (address - allocation->host_address)) {
      return allocation.get();
    }
  }
  return nullptr;
}

}  // namespace gfxgraph::recorder
