// Determines which allocations of a program may share bytes of one arena, one after another: those
// with disjoint lifetimes. Needs no device and no HIP.
//
// Candidates are device allocations that the program got with fresh memory and freed again. One may
// follow another if the DAG (dag.h) orders all operations that can use the earlier one before all
// that can use the later one. An operation can use an allocation if it names it, in arguments or as
// an end of a copy or fill, or follows one that does: a kernel gets an address from its own
// arguments, or from memory that such an operation wrote. It is issued before the allocation is
// freed. If the order is not proven, nothing is shared.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/program/options.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Bytes of an allocation whose life has ended.
struct EndedBytes {
  format::AllocationId allocation = 0;
  uint64_t offset_bytes = 0;  // in the allocation
  uint64_t size_bytes = 0;
  uint64_t arena_offset = 0;
  uint64_t kept_offset = 0;  // where they go if they are kept, see SessionOptions::keep_freed
};

// The lifetime of an allocation begins: its bytes of the arena become fresh memory.
struct Turnover {
  uint32_t operation = 0;  // of the program: the first that can use it; all others follow
  format::AllocationId begins = 0;
  uint64_t arena_offset = 0;
  uint64_t size_bytes = 0;        // a multiple of kArenaAlignment
  std::vector<EndedBytes> ended;  // what others left there, as far as it is still theirs
};

struct Tenant {
  format::AllocationId allocation = 0;
  uint64_t arena_offset = 0;
  bool shares = false;  // has bytes that another one has at another time
  bool reused = false;  // another one has bytes of it after its end
};

struct Packing {
  std::vector<Tenant> tenants;
  std::vector<Turnover> turnovers;  // of those that share; by operation, then in recorded order
  uint64_t arena_bytes = 0;
  uint64_t kept_bytes = 0;  // of all EndedBytes
};

inline constexpr uint64_t kArenaAlignment = 256;  // as hipMalloc's

// Empty for MemoryUse::kApart, and if nothing can be shared. Excludes the caller's buffers
// (options.bindings), those of rigid groups (rigid.h), and those that are alive at a border of a
// range that may become a step (options.only_range). Allocations of two ranges share nothing: steps
// run in any order.
Packing plan_packing(const Program& program, const SessionOptions& options);

}  // namespace gfxgraph::replayer
