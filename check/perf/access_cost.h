// What one access of a wave's lanes costs a memory that moves whole lines, and LDS that has banks:
// counts, no time.
#pragma once

#include <cstdint>

#include "emulator/engine/observer.h"

namespace gfxgraph::check {

// Of RDNA2's caches.
inline constexpr uint64_t kCacheLineBytes = 128;
// Of the LDS that a SIMD pair reaches, each a dword wide.
inline constexpr uint64_t kLdsBanks = 32;

struct AccessCost {
  uint32_t lanes = 0;
  uint32_t units = 0;  // cache lines touched, or passes over the banks
  uint32_t least = 0;  // for as many different bytes, wherever they lie
};

// Global memory: the lines that the active lanes touch.
AccessCost line_cost(const emulator::MemoryEvent& event);
// LDS: the most dwords of one bank. Lanes that read or write the same dword share it, those of an
// atomic do not.
AccessCost bank_cost(const emulator::MemoryEvent& event);

}  // namespace gfxgraph::check
