// Asynchronous copies. One thread runs each copy once the signals that it depends on are below 1.
// Copies that do not depend on each other are unordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hsa/queue/signal.h"

namespace gfxgraph::hsa {

// Copies `planes` x `rows` x `row_bytes`; a linear copy is one row. Addresses are host addresses.
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

// Copies on the calling thread.
void copy_now(const CopyShape& shape) noexcept;

// Copies once every dependency is below 1, then completes `completion` (may be null). A small copy
// that is ready runs on the calling thread, others later. The memory must remain valid until then.
void copy_later(const CopyShape& shape, std::vector<Signal*> dependencies, Signal* completion);

}  // namespace gfxgraph::hsa
