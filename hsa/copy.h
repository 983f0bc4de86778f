// Asynchronous copies: on one thread, each as soon as the signals it depends on are done. Copies
// that do not depend on each other have no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hsa/signal.h"

namespace gfxgraph::hsa {

// `planes` x `rows` x `row_bytes`; a linear copy is one row. Addresses are the host's.
struct CopyShape {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t row_bytes = 0;
  uint64_t rows = 1;
  uint64_t planes = 1;
  uint64_t to_pitch_bytes = 0;
  uint64_t to_slice_bytes = 0;
  uint64_t from_pitch_bytes = 0;
  uint64_t from_slice_bytes = 0;
};

void copy_now(const CopyShape& shape) noexcept;

// Copies when every dependency is below 1, then completes `completion` (may be null).
void copy_later(const CopyShape& shape, std::vector<Signal*> dependencies, Signal* completion);

}  // namespace gfxgraph::hsa
