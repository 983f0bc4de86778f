// Determines which allocations of a trace are the same memory for a step that runs repeatedly.
//
// Two ids are the same memory if one of these rules holds; otherwise they are different memory.
//  - Continued: the earlier one ended without being freed, and the later one began at the same
//    recorded address with the same size and kind. A recorder of ranges ends all memory with a
//    range and begins it anew with the next one.
//  - Made anew: both began inside their iteration and were freed at some time, both are the n-th
//    such allocation of their iteration, and size and kind are equal. The addresses may differ.
// Memory that one iteration makes and another one uses is not matched.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "format/read/reader.h"

namespace gfxgraph::ranges {

// One iteration: the events [first_event, end_event).
struct IterationSpan {
  uint64_t first_event = 0;
  uint64_t end_event = 0;
  uint64_t ordinal = 0;  // of the range among those of its name; of a period, its number from 0
};

// Equal keys: the same memory. 0: no memory.
using MemoryKey = uint64_t;

// What a key of memory that each iteration makes anew stands for.
struct RemadeAllocation {
  uint64_t ordinal = 0;  // among those that the iteration makes and that are freed later
  uint64_t size_bytes = 0;
  format::AllocationKind kind = format::AllocationKind::kDevice;
  auto operator<=>(const RemadeAllocation&) const = default;
};

// Keeps no reference to the trace. Linear in its events.
class AllocationIdentity {
 public:
  explicit AllocationIdentity(const format::Trace& trace);

  // Of an allocation as work of `iteration` uses it. An id that never began is its own key.
  MemoryKey key(format::AllocationId allocation, const IterationSpan& iteration);
  // The remade allocation behind a key, else nullptr: then the key is the first id of the memory.
  const RemadeAllocation* remade(MemoryKey key) const;
  // nullptr: never began.
  const format::AllocationKind* kind(format::AllocationId allocation) const;
  // Whether it continues memory that ended with other bytes than it begins with.
  bool changed_meanwhile(format::AllocationId allocation) const;

 private:
  struct Life {
    format::AllocationId first = 0;  // of this memory
    uint64_t begin_event = 0;
    uint64_t size_bytes = 0;
    format::AllocationKind kind = format::AllocationKind::kDevice;
    bool freed = false;
    bool changed_meanwhile = false;
    uint64_t freed_before = 0;  // allocations that began earlier and were freed at some time
  };

  std::unordered_map<format::AllocationId, Life, SeededHash> lives_;
  std::vector<uint64_t> freed_begins_;  // events at which those began that were freed, rising
  std::map<RemadeAllocation, MemoryKey> remade_keys_;
  std::vector<RemadeAllocation> remade_;
};

}  // namespace gfxgraph::ranges
