// Detects the writes of the program's host functions to memory that kernels reach. A function runs
// on a thread of the runtime, between device work that may read its results: the memory is compared
// with its state when the function began. Depends only on addresses; not thread-safe: the lock of
// HostRuns guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/contents/kept_bytes.h"

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

  explicit HostEffects(ByteStore& store) : store_(store) {}

  // Kernels reach the memory from now on: runs in progress are compared from here. `keep`: for
  // seen().
  void watch(format::AllocationId allocation, uint64_t host_address, uint64_t size_bytes,
             bool keep = false);
  void forget(format::AllocationId allocation);

  void begin(Run run);
  Effect end(Run run);

  // The kept memory's contents when the run began, or ended if it has, with the writes of runs that
  // ended since; empty: unknown. drop(): no longer needed.
  KeptBytes seen(Run run, format::AllocationId allocation) const;
  void drop(Run run) {
    kept_.erase(run);
    began_.erase(run);
  }
  // The hash of a block that was watched when the run began, until drop(): XXH3.
  std::optional<uint64_t> hash_at_begin(Run run, format::AllocationId allocation,
                                        uint64_t block) const;

  // For a piece of memory that holds `now`, and whose hash in the trace is `known`: whether
  // functions that have not ended may write it. kTold: `changes` receives the changes since they
  // began, or since the last call. kMixed: one of them began with contents that are neither
  // those nor `now`, so its writes cannot be distinguished from the program's earlier ones.
  enum class Meanwhile { kNobody, kTold, kMixed };
  Meanwhile changed_meanwhile(format::AllocationId allocation, uint64_t offset_bytes,
                              std::span<const std::byte> now, uint64_t known,
                              std::vector<Change>& changes);

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

  ByteStore& store_;
  std::map<format::AllocationId, Memory> watched_;
  std::unordered_map<Run, Snapshots> running_;
  std::map<Run, std::map<format::AllocationId, KeptBytes>> kept_;
  std::map<Run, std::map<format::AllocationId, KeptBytes>> began_;  // one hash for each block
};

}  // namespace gfxgraph::recorder
