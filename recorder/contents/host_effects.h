// What the program's host functions write into memory that kernels reach. A function runs on a
// thread of the runtime, between device work that may read what it writes: the memory is compared
// with what it was when the function began. Knows nothing but addresses; not thread-safe: the
// lock of HostRuns guards it.
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

  // Kernels reach the memory from now on: runs that are under way are compared from here.
  // `keep`: for seen().
  void watch(format::AllocationId allocation, uint64_t host_address, uint64_t size_bytes,
             bool keep = false);
  void forget(format::AllocationId allocation);

  void begin(Run run);
  Effect end(Run run);

  // What kept memory held when the run began, or ended if it has, with what runs have written that
  // ended since; empty: not known. drop(): nobody asks any more.
  KeptBytes seen(Run run, format::AllocationId allocation) const;
  void drop(Run run) {
    kept_.erase(run);
    began_.erase(run);
  }
  // Of a block of what was watched when the run began, until drop(): XXH3.
  std::optional<uint64_t> hash_at_begin(Run run, format::AllocationId allocation,
                                        uint64_t block) const;

  // Of a piece of memory that holds `now`, and in the trace what has the hash `known`: whether
  // functions that have not ended may write it. kTold: `changes` gets what has changed since they
  // began, or since this was last asked. kMixed: one of them began with something else there, so
  // that its writes cannot be told from the program's before it.
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
