// What kind of work something gives the device, as one number: equal for the same kernel, copy,
// memset, host function or graph on the same stream, whatever its arguments, grid and sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::ranges {

// Keeps a reference to nothing. Linear in the nodes of the trace's graphs.
class WorkShapes {
 public:
  explicit WorkShapes(const format::Trace& trace);

  // 0: no work of the device. Two shapes may have one number by chance, or by a forger's will.
  uint64_t of(const format::Action& action) const;

 private:
  std::vector<uint64_t> graphs_;  // by id
};

// A hash of numbers in order; never 0.
uint64_t hash_numbers(std::initializer_list<uint64_t> numbers);

}  // namespace gfxgraph::ranges
