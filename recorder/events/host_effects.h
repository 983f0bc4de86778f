// The writes of the program's host functions to memory that kernels reach. A function runs on a
// thread of the runtime, between device work that may read its results: the memory is compared with
// its state when the function began. The changes get into what the trace has of the memory, and
// must not be found again as writes of the program.
//
// The lock of HostRuns guards it, and is taken here unless stated otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/bytes/kept_bytes.h"
#include "recorder/lock_order.h"
#include "recorder/objects/allocations.h"

namespace gfxgraph::recorder {

class HostEffects {
 public:
  using Run = uint64_t;  // the recorder's number of one call of a host function

  struct Change {
    format::AllocationId allocation = 0;
    uint64_t offset_bytes = 0;
    KeptBytes bytes;
  };
  // A block of kHostBlockBytes with changes, by hash (XXH3).
  struct Block {
    format::AllocationId allocation = 0;
    uint64_t index = 0;
    uint64_t hash_before = 0;
    uint64_t hash_after = 0;
  };
  struct Effect {
    std::vector<Change> changes;
    std::vector<Block> blocks;
  };

  HostEffects(ByteStore& store, Allocations& allocations, HostRunsMutex& mutex) noexcept
      : store_(store), allocations_(allocations), mutex_(mutex) {}

  // ---- for HostRuns, which holds its lock, on a thread of the runtime ---------------------------
  void begin(Run run);
  Effect end(Run run);
  // The trace has a place for it: take() gets it.
  void to_take(Effect effect);
  // For the next trace.
  void forget_trace() { ended_.clear(); }

  // ---- with the recorder's lock -----------------------------------------------------------------
  // Kernels reach the memory from now on: runs in progress are compared from here.
  void watch(Allocation& allocation);
  // Nor are its pages watched any more. Before the program gives the memory back.
  void unwatch(Allocation& allocation);
  // Brings the writes of ended runs into the known state of the memory.
  void take();

  // For a block that holds `now`: whether functions that have not ended may write it. kTold:
  // `changes` receives the changes since they began, or since the last call. kMixed: one of them
  // began with contents that are neither those in the trace nor `now`, so its writes cannot be
  // distinguished from the program's earlier ones. nullopt: one has ended since take().
  enum class Meanwhile { kNobody, kTold, kMixed };
  std::optional<Meanwhile> changed_meanwhile(const Allocation& allocation, uint64_t block,
                                             std::span<const std::byte> now,
                                             std::vector<Change>& changes);

  // The trace reports that this one ran. Until told(), completed work is attributed to its report.
  void telling(Run run) noexcept { telling_ = run; }
  void told(Run run);
  // Whether the block also had its known content when the function that reported the work began. If
  // that was not recorded, kernels are assumed to have written nothing that the program undid.
  bool told_unchanged(const Allocation& allocation, uint64_t block, bool copies);
  // The contents of memory that only copy nodes write when that function began, or ended if it has,
  // with the writes of functions that ended since; empty: unknown.
  KeptBytes told_to_hold(const Allocation& allocation);

 private:
  struct Memory {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    bool keep = false;
  };
  struct Snapshot {
    KeptBytes before;
    KeptBytes told;  // before, and what changed_meanwhile() gave
  };
  KeptBytes read(const Memory& memory) const;
  void find_changes(format::AllocationId allocation, const Snapshot& snapshot, const Memory& memory,
                    const KeptBytes& now, Effect& effect) const;
  using Snapshots = std::map<format::AllocationId, Snapshot>;

  // The hash of a block that was watched when the run began, until told(): XXH3.
  std::optional<uint64_t> hash_at_begin(Run run, format::AllocationId allocation,
                                        uint64_t block) const;

  ByteStore& store_;
  Allocations& allocations_;
  HostRunsMutex& mutex_;  // of HostRuns
  Run telling_ = 0;       // with the recorder's lock
  std::atomic<bool> any_ended_{false};
  std::vector<Effect> ended_;  // not yet taken into the known state
  std::map<format::AllocationId, Memory> watched_;
  std::unordered_map<Run, Snapshots> running_;
  std::map<Run, std::map<format::AllocationId, KeptBytes>> kept_;
  std::map<Run, std::map<format::AllocationId, KeptBytes>> began_;  // one hash for each block
};

}  // namespace gfxgraph::recorder
