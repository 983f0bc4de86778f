// The program's memory and the targets of words: allocations by address and by id, plain host
// memory that copy nodes write, and the assigned ids.
//
// The recorder's lock guards it. Data that launches read without that lock changes only while none
// run (LaunchLanes::Alone).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "pointers/word_resolver.h"
#include "recorder/objects/allocation_map.h"
#include "recorder/objects/code_registry.h"
#include "recorder/objects/departures.h"
#include "recorder/queue/launch_lane.h"

namespace gfxgraph::recorder {

class Allocations {
 public:
  explicit Allocations(LaunchLanes& lanes) noexcept : lanes_(lanes) {}
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  const AllocationMap& map() const noexcept { return map_; }
  const WordResolver& words() const noexcept { return words_; }
  // The current targets of words: the program continues, and may free memory and reuse its
  // addresses.
  std::shared_ptr<const WordsThen> words_now();
  // Plain host memory that copy nodes write: not in map(), because no kernel can reach it.
  std::vector<std::shared_ptr<Allocation>>& adopted() noexcept { return adopted_; }
  const std::vector<std::shared_ptr<Allocation>>& adopted() const noexcept { return adopted_; }

  // Those whose addresses it takes leave the map.
  std::vector<std::shared_ptr<Allocation>> insert(std::shared_ptr<Allocation> allocation);
  void remove(uint64_t address);
  void adopt(std::shared_ptr<Allocation> allocation);

  // nullptr: gone.
  Allocation* by_id(format::AllocationId id) const;
  // nullptr also while a call gives it back: its memory may not be the program's any more.
  Allocation* living(format::AllocationId id) const;
  // Known allocations only, by the device's or the host's address. `offset`: of the address in it.
  Allocation* allocation_at(uint64_t address, uint64_t& offset) const;
  // By the address that the device uses, or else by the host's.
  Allocation* find_seen(uint64_t address) const;
  Allocation* find_adopted(uint64_t address, uint64_t size_bytes) const;

  // The next allocation that enters the trace gets this id.
  format::AllocationId next_id() const noexcept { return next_id_; }
  format::AllocationId new_id() noexcept { return next_id_++; }
  // For those outside of the trace, if only ranges are recorded: counts downwards.
  format::AllocationId new_untraced_id() noexcept { return next_untraced_--; }
  bool is_untraced(format::AllocationId id) const noexcept { return id > next_untraced_; }
  // Its previous id still refers to it: words that were resolved before may use it.
  void number(Allocation& allocation, format::AllocationId id);
  // It has left the trace: only its id outside of the trace refers to it.
  void leave_trace(Allocation& allocation);
  void forget_id(const Allocation& allocation);
  // Hears of each one whose id is forgotten.
  void tell(Departures& departures) noexcept { departures_ = &departures; }
  // Whether what the program writes to host-visible memory is followed: AllocationMap's answer.
  void follow_host(bool follow);
  // Ids have changed: earlier results may be wrong.
  void renumbered() noexcept { map_.renumbered(); }
  // For the next trace: none has an id in it.
  void number_anew();

  // The address of a module's variable locates its code.
  void learn_code_range(const ModuleEntry& module, const Allocation& variable);
  void forget_code(const void* module);

  // The host may write the same bytes again and mean the new allocation: its earlier writes count
  // as made now.
  void addresses_reused(const Allocation& entry);

  // Whether streams write or wait for values in memory: launches then look for kernels that may
  // also write them.
  bool any_value() const noexcept { return any_value_; }
  // From now on kernels that receive the memory are noted.
  void hold_value(Allocation& allocation);
  // Whether kernels may reach memory that the host sees. Call when memory is watched from now on,
  // or not any more.
  bool any_reachable() const noexcept { return any_reachable_; }
  void watch_changes(const Allocation& allocation);

 private:
  LaunchLanes& lanes_;
  AllocationMap map_;
  WordResolver words_{map_};
  std::shared_ptr<const WordsThen> words_then_;  // the last one
  std::unordered_map<format::AllocationId, Allocation*> by_id_;
  std::vector<std::shared_ptr<Allocation>> adopted_;
  format::AllocationId next_id_ = 1;
  format::AllocationId next_untraced_ = UINT32_MAX;
  Departures* departures_ = nullptr;
  bool any_value_ = false;
  bool any_reachable_ = false;
};

}  // namespace gfxgraph::recorder
