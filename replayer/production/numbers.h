// Whether two buffers of numbers are equal, exactly or within a tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gfxgraph::replayer {

// Bytes of a number of a GFXGRAPH_TYPE_...; 0: there is no such type.
uint32_t number_bytes(uint32_t type) noexcept;

// Numbers of `type`, as many in both: |a - b| <= tolerance * max(1, |b|) for floats, or both NaN;
// bits for others, and for a tolerance of 0 floats that are equal.
bool are_equal(uint32_t type, double tolerance, std::span<const std::byte> a,
               std::span<const std::byte> b) noexcept;

}  // namespace gfxgraph::replayer
