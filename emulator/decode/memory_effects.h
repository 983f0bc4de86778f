// The effects of a kernel's instructions on memory that its waves share, for gfxgraph-replay: what
// can make it leave other bytes in another order of its workgroups.
#pragma once

#include <cstdint>
#include <span>

namespace gfxgraph::emulator {

// Bits.
namespace memory_effect {
inline constexpr uint32_t kStores = 1;   // plain ones, to global memory or LDS; also spills to
                                         // scratch that are made by buffer instructions
inline constexpr uint32_t kAtomics = 2;  // of any kind
inline constexpr uint32_t kReturningAtomics = 4;  // a wave receives the previous value
inline constexpr uint32_t kFloatAtomics = 8;      // floating-point arithmetic
inline constexpr uint32_t kOther = 16;  // it calls or jumps to other code, or cannot be decoded
}  // namespace memory_effect

// Of gfx1030 code from its first instruction to its last. `address`: of the first. Thread-safe.
uint32_t memory_effects(std::span<const uint32_t> code, uint64_t address) noexcept;

}  // namespace gfxgraph::emulator
