// binary16 <-> binary32, branch-free so that loops over lanes vectorize on every instruction set.
#pragma once

#include <cstdint>

#include "emulator/wave.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// The low 16 bits. Exact; a signalling NaN stays one.
GFXGRAPH_INLINE float half_to_float(uint32_t h) {
  const uint32_t magnitude = h & 0x7fffu;
  const uint32_t sign = (h & 0x8000u) << 16;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  // A denormal is an integer times 2^-24: exact in binary32.
  const uint32_t tiny = __builtin_bit_cast(uint32_t, static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  uint32_t r = magnitude >= 0x7c00u ? special : normal;
  r = magnitude < 0x0400u ? tiny : r;
  return __builtin_bit_cast(float, r | sign);
}

// Round to nearest even; NaNs are quieted and keep the upper payload bits.
GFXGRAPH_INLINE uint32_t float_to_half(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f);
  const uint32_t sign = u >> 16 & 0x8000u;
  const uint32_t a = u & 0x7fffffffu;
  const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
  // Below 2^-14 the spacing is 2^-24, that of binary32 in [0.5, 1).
  const uint32_t tiny =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < 0x38800000u ? tiny : normal;
  r = a >= 0x477ff000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? (0x7e00u | (a >> 13 & 0x3ffu)) : r;
  return r | sign;
}

// The 16 bits that half_to_float() made `f` from.
GFXGRAPH_INLINE uint32_t raw_half(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f);
  const uint32_t r = float_to_half(f);
  // A signalling NaN went through unchanged.
  return (u & 0x7fffffffu) > 0x7f800000u ? (r & ~0x0200u) | (u >> 13 & 0x0200u) : r;
}

// Toward zero: finite values never become infinite.
GFXGRAPH_INLINE uint32_t float_to_half_rtz(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f);
  const uint32_t sign = u >> 16 & 0x8000u;
  const uint32_t a = u & 0x7fffffffu;
  const uint32_t normal = (a - (112u << 23)) >> 13;
  const float scaled = __builtin_bit_cast(float, a < 0x38800000u ? a : 0u) * 0x1p24f;
  const uint32_t tiny = static_cast<uint32_t>(static_cast<int32_t>(scaled));
  uint32_t r = a < 0x38800000u ? tiny : normal;
  r = a >= 0x47800000u ? 0x7bffu : r;
  r = a == 0x7f800000u ? 0x7c00u : r;
  r = a > 0x7f800000u ? (0x7e00u | (a >> 13 & 0x3ffu)) : r;
  return r | sign;
}

// Rounds to odd: the exact sum a + b with the last bit of the result set when it is inexact, so that a later
// rounding to fewer bits rounds once. Finite results only are adjusted.
GFXGRAPH_INLINE float add_to_odd(float a, float b) {
  const float s = a + b;
  const float bb = s - a;
  const float error = (a - (s - bb)) + (b - bb);
  const uint32_t u = __builtin_bit_cast(uint32_t, s);
  // Inexact with an even last bit: one step toward the error's sign.
  const uint32_t error_bits = __builtin_bit_cast(uint32_t, error);
  const bool inexact = (error_bits & 0x7fffffffu) != 0 && (error_bits & 0x7f800000u) != 0x7f800000u;
  const bool away = ((error_bits ^ u) >> 31) == 0;
  const uint32_t stepped = away ? u + 1 : u - 1;
  return __builtin_bit_cast(float, inexact && (u & 1u) == 0 && (u & 0x7f800000u) != 0x7f800000u ? stepped : u);
}

// a * b + c of binary16 values, rounded to odd in binary32: exact product (22 bits), then one sum.
// A NaN addend goes through even where the product is invalid.
GFXGRAPH_INLINE float fma_half(float a, float b, float c) {
  const float r = add_to_odd(a * b, c);
  return c != c ? c + c : r;
}

}  // inline namespace
}  // namespace gfxgraph::emulator
