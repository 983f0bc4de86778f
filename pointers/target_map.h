// Maps an address to what it leads to: what is live now, or was. Not thread-safe; for the recorder,
// the model's lock guards it.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "pointers/target.h"

namespace gfxgraph::pointers {

class TargetMap {
 public:
  // Live ranges never overlap: ranges that the new one overlaps (their free was not observed) are
  // removed and returned.
  std::vector<std::shared_ptr<Target>> insert(std::shared_ptr<Target> target);

  // The allocation that contains the device address; otherwise the one that ends exactly there (a
  // pointer one past the end is legal C++). nullptr: neither.
  Target* find(uint64_t address) const noexcept;
  // The live memory nearest to the device address; nullptr: there is none.
  const Target* nearest(uint64_t address) const noexcept;
  // Whether `holds` is true of every live allocation at most `reach` bytes away from the address.
  template <typename Predicate>
  bool all_within(uint64_t address, uint64_t reach, Predicate&& holds) const {
    const auto next = first_behind(address);
    for (auto at = next; at != ranges_.begin();) {
      --at;
      if (!at->target->is_memory()) continue;
      if (at->target->distance(address) > reach) break;
      if (!holds(*at->target)) return false;
    }
    for (auto at = next; at != ranges_.end() && at->begin - address <= reach; ++at) {
      if (!at->target->is_memory()) continue;
      if (!holds(*at->target)) return false;
    }
    return true;
  }
  // Like find(), by the host address of host-visible memory; the end is not part of it.
  Target* find_host(uint64_t address) const noexcept;
  // As find(), by the host address of memory that the device knows by another one: kernels use
  // either.
  const Target* find_alias(uint64_t address) const noexcept;
  // The live allocation that contains the address, otherwise the one freed last that did, otherwise
  // the live one that ends there. A table in memory keeps its pointers when their targets are
  // freed.
  const Target* find_live_or_freed(uint64_t address) const noexcept;
  // Freed allocations that last occupied a part of these device addresses.
  std::vector<format::AllocationId> freed_within(uint64_t begin, uint64_t end) const;
  // Registered memory that was there before, and to which memory may still lead.
  bool registered_before(const Target& now) const;
  // The allocation that begins at the device or host address.
  std::shared_ptr<Target> find_begin(uint64_t address) const noexcept;
  // As find_begin(), also for an address inside: HIP 5.2.3 frees memory by any pointer into it.
  std::shared_ptr<Target> find_freed(uint64_t address) const noexcept;
  std::shared_ptr<Target> remove(uint64_t address);

  // In order of address.
  std::vector<std::shared_ptr<Target>> all() const;
  // Changes with every insert and remove: results of find() stay valid while it is the same.
  uint64_t generation() const noexcept { return generation_; }
  // Their ids have changed.
  void renumbered() noexcept { ++generation_; }
  // Calls `number` with each live allocation, then with the freed ones.
  void number_anew(const std::function<void(Target&, bool live)>& number);
  size_t size() const noexcept { return ranges_.size(); }
  // No address outside [lowest, highest] belongs to a live allocation: quick test of a scan.
  uint64_t lowest() const noexcept {
    return ranges_.empty() ? ~uint64_t{0} : ranges_.front().begin;
  }
  uint64_t highest() const noexcept { return ranges_.empty() ? 0 : ranges_.back().end; }
  // Whether the address of a live or freed allocation may have these upper 32 bits.
  bool known_upper(uint32_t upper) const noexcept {
    return upper < known_uppers_.size() && known_uppers_[upper];
  }
  // Their bits 40 to 47.
  const std::bitset<256>& known_high_bytes() const noexcept { return known_high_bytes_; }

 private:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::shared_ptr<Target> target;
  };
  void retire(const Range& range);
  std::vector<Range>::const_iterator first_behind(uint64_t address) const noexcept;

  std::vector<Range> ranges_;   // by begin
  std::vector<Range> aliases_;  // live allocations with two addresses, by their host address
  // Freed, by begin, without overlap: for each address the one freed last. Live ones take
  // precedence.
  std::vector<Range> retired_;
  std::bitset<65536> known_uppers_;  // of 48-bit addresses
  std::bitset<256> known_high_bytes_;
  std::vector<std::shared_ptr<Target>> host_;
  uint64_t generation_ = 0;
};

}  // namespace gfxgraph::pointers
