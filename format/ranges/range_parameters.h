// The differences between the iterations of a step, and its transfers with the host.
//
// Iterations are the ranges of one name and one shape that were left, in order, without those that
// begin before an earlier one ended; or the repetitions of a period. They are compared position by
// position: the k-th work of one with the k-th work of every other, where work is a launch, copy,
// memset, host function or graph launch, and a graph launch has its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/ranges/allocation_identity.h"
#include "format/ranges/parameter_pattern.h"
#include "format/ranges/trace_ranges.h"
#include "format/read/reader.h"

namespace gfxgraph::ranges {

// Append only, in the order of place_kind_name().
enum class PlaceKind : uint8_t {
  kArgument,
  kGridX,
  kGridY,
  kGridZ,
  kRemainderX,
  kRemainderY,
  kRemainderZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kDynamicLds,
  kSource,
  kDestination,
  kWidth,
  kHeight,
  kDepth,
  kSourcePitch,
  kSourceSlice,
  kDestinationPitch,
  kDestinationSlice,
  kMemsetValue,
};

constexpr uint32_t kNone = UINT32_MAX;

// One place of an iteration that holds a value.
struct Place {
  uint64_t work = 0;          // in the iteration, from 0
  uint64_t event = 0;         // of that work in the first iteration
  uint32_t node = kNone;      // in the launched graph
  uint32_t kernel = 0;        // a format::KernelId; 0: of a copy or memset
  uint32_t argument = kNone;  // kArgument: in Kernel::arguments; none: the kernel lists none
  uint32_t offset_bytes = 0;  // kArgument: in the kernarg segment
  uint32_t size_bytes = 8;
  PlaceKind kind = PlaceKind::kArgument;
  bool memset = false;
};

// Places that hold the same value as each other in every iteration, and not always the same one.
struct Parameter {
  std::string name;  // of most of its arguments, else place_text() of the first one; may be long
  PatternMatch match;
  std::vector<ParameterValue> values;  // one per iteration
  std::vector<Place> places;           // in the order in which the step uses them
};

enum class Bytes : uint8_t { kConstant, kChange, kUnknown };

// Bytes that the host gave (a copy from the host, a write to memory that both reach), or took.
struct Transfer {
  bool host_write = false;  // else a copy
  bool pinned = false;      // of a copy: HIP knew the host's end, else it was plain host memory
  uint64_t work = 0;        // of a copy, as in Place; of a write, how many writes went to the same
                            // place in the iteration before it
  uint64_t event = 0;       // the first one
  uint32_t node = kNone;    // of a copy
  uint64_t iterations = 0;  // that have it: all of them, of a copy
  uint64_t size_bytes = 0;  // in the first one
  bool size_changes = false;
  ParameterValue memory;      // the device's end, or what was written, in the first one
  PatternMatch memory_match;  // how that moves, of a copy
  // Whether all iterations have the same bytes. Unknown: not all are in the trace, as for copies
  // from memory that kernels reach, whose bytes are host writes.
  Bytes bytes = Bytes::kUnknown;
};

struct RangeComparison {
  std::string name;
  uint32_t shape = 0;                     // 0: of a period
  std::vector<IterationSpan> iterations;  // at least 2
  uint64_t works = 0;                     // of each iteration; a graph launch is one
  uint64_t constant_places = 0;           // with graph nodes
  std::vector<Parameter> parameters;      // those with most places first
  std::vector<Transfer> inputs, outputs;  // copies in order, then writes
  // What differs and what passes beyond the limit of compare_iterations().
  uint64_t unlisted_places = 0, unlisted_transfers = 0;
  std::string not_compared;  // why nothing was compared; empty: it was
};

struct RangeComparisons {
  explicit RangeComparisons(const format::Trace& trace) : memory(trace) {}
  AllocationIdentity memory;  // what the keys in parameters and transfers mean
  std::vector<RangeComparison> comparisons;
};

// Iterations of one name and shape, for compare_iterations(); in the order of their first range.
struct IterationGroup {
  std::string name;
  uint32_t shape = 0;
  std::vector<IterationSpan> iterations;
};
std::vector<IterationGroup> group_iterations(const std::vector<RangeSummary>& ranges);

// Compares groups with at least two iterations; others are left out. Time is linear in the events
// and graph nodes of the iterations, bounded by kMostCompared times those of the trace: the rest is
// named in `not_compared`. Memory is bounded by the listed items, of all groups together: a file of
// a few hundred kilobytes can launch graphs with millions of nodes.
RangeComparisons compare_iterations(const format::Trace& trace,
                                    const std::vector<IterationGroup>& groups,
                                    uint64_t most_listed = 1000000);
constexpr uint64_t kMostCompared = 16;
// Values of one parameter count once per this many iterations towards what is listed.
constexpr uint64_t kValuesPerListed = 16;

// Whether an event is one of the works that iterations are compared by.
bool is_work(const format::Action& action);

// The events of the works of an iteration, as compare_iterations() counts them.
std::vector<uint64_t> works_of(const format::Trace& trace, const IterationSpan& span);

// "argument", "grid x", "dynamic LDS", "copy source", ...
const char* place_kind_name(PlaceKind kind);
// "gemv<true> argument 'rows' at 0x18", "rope argument 4 at 0x20" (from 0) where the code object
// names none, "copy destination", "memset value". Names are clipped, otherwise as in the trace.
std::string place_text(const format::Trace& trace, const Place& place);

}  // namespace gfxgraph::ranges
