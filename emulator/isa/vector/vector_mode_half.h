// Rounding to binary16 in any mode.
#pragma once

#include "emulator/isa/vector/vector_mode.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// `v`, which is exact or was rounded so that no second rounding shows (to odd, or in the same
// direction), as binary16.
inline uint32_t round_to_half(float v, unsigned rounding, bool flush) {
  const uint32_t u = bits_of(v);
  const uint32_t sign = u >> 16 & 0x8000u;
  const uint32_t a = u & 0x7fffffffu;
  if (a >= 0x7f800000u) return float_to_half(v);
  const bool away = (rounding == 1 && sign == 0) || (rounding == 2 && sign != 0);
  const auto truncated_up = [&](uint32_t magnitude) {  // any direction but to nearest
    const uint32_t cut = float_to_half_rtz(as<float>(magnitude)) & 0x7fffu;
    return cut + (away && bits_of(half_to_float(cut)) != magnitude ? 1 : 0);
  };
  const auto round = [&](uint32_t magnitude) {
    return rounding == 0 ? float_to_half(as<float>(magnitude)) & 0x7fffu : truncated_up(magnitude);
  };
  if (flush && a < 0x38800000u) {
    // Tiny unless it rounds up to 2^-14: seen one binade further up, where it has all its bits.
    const bool normal = a >= 0x38000000u && round(a + (1u << 23)) >= 0x0800u;
    return sign | (normal ? 0x0400u : 0u);
  }
  return sign | round(a);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
