// binary16 <-> binary32, branch-free so that loops over lanes vectorize on every instruction set.
#pragma once

#include <cstdint>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "emulator/engine/wave.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// The low 16 bits. Exact; a signalling NaN stays one.
GFXGRAPH_INLINE float half_to_float(uint32_t h) {
  const uint32_t magnitude = h & 0x7fffu;
  const uint32_t sign = (h & 0x8000u) << 16;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  // A denormal is an integer times 2^-24: exact in binary32.
  const uint32_t tiny =
      __builtin_bit_cast(uint32_t, static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
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

// Rounds to odd: the exact sum a + b with the last bit of the result set when it is inexact, so
// that a later rounding to fewer bits rounds once. Finite results only are adjusted.
GFXGRAPH_INLINE float add_to_odd(float a, float b) {
  const float s = a + b;
  const float bb = s - a;
  const float error = (a - (s - bb)) + (b - bb);
  const uint32_t u = __builtin_bit_cast(uint32_t, s);
  // Inexact with an even last bit: one step toward the error's sign. Masks, not branches.
  const uint32_t e = __builtin_bit_cast(uint32_t, error);
  const uint32_t inexact = (e & 0x7fffffffu) != 0 ? ~0u : 0u;
  const uint32_t finite_error = (e & 0x7f800000u) != 0x7f800000u ? ~0u : 0u;
  const uint32_t finite = (u & 0x7f800000u) != 0x7f800000u ? ~0u : 0u;
  const uint32_t even = (u & 1u) - 1u;
  const uint32_t step = 1u - 2u * ((e ^ u) >> 31);
  return __builtin_bit_cast(float, u + (step & inexact & finite_error & finite & even));
}

// a * b + c of binary16 values, rounded to odd in binary32: exact product (22 bits), then one sum.
// A NaN addend goes through even where the product is invalid.
GFXGRAPH_INLINE float fma_half(float a, float b, float c) {
  const float r = add_to_odd(a * b, c);
  return c != c ? c + c : r;
}

// The two halves of each lane as binary32 rows. Signalling NaNs may come out quiet.
GFXGRAPH_INLINE void split_halves(const uint32_t* in, float* low, float* high) {
#ifdef __F16C__
  for (unsigned l = 0; l < kLanes; l += 8) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + l));
    const __m256i lows = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    const __m256i highs = _mm256_srli_epi32(v, 16);
    const __m128i packed_low =
        _mm_packus_epi32(_mm256_castsi256_si128(lows), _mm256_extracti128_si256(lows, 1));
    const __m128i packed_high =
        _mm_packus_epi32(_mm256_castsi256_si128(highs), _mm256_extracti128_si256(highs, 1));
    _mm256_storeu_ps(low + l, _mm256_cvtph_ps(packed_low));
    _mm256_storeu_ps(high + l, _mm256_cvtph_ps(packed_high));
  }
#else
  for (unsigned l = 0; l < kLanes; ++l) {
    low[l] = half_to_float(in[l]);
    high[l] = half_to_float(in[l] >> 16);
  }
#endif
}

// Rounds both rows and packs them, in lanes of the mask.
GFXGRAPH_INLINE void join_halves(const float* low, const float* high, const uint32_t* mask,
                                 uint32_t* out) {
#ifdef __F16C__
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  for (unsigned l = 0; l < kLanes; l += 8) {
    const __m256i lows = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(_mm256_loadu_ps(low + l), kNearest));
    const __m256i highs =
        _mm256_cvtepu16_epi32(_mm256_cvtps_ph(_mm256_loadu_ps(high + l), kNearest));
    const __m256i v = _mm256_or_si256(lows, _mm256_slli_epi32(highs, 16));
    __m256i* const d = reinterpret_cast<__m256i*>(out + l);
    const __m256i m = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask + l));
    _mm256_storeu_si256(d, _mm256_blendv_epi8(_mm256_loadu_si256(d), v, m));
  }
#else
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t v = float_to_half(low[l]) | float_to_half(high[l]) << 16;
    out[l] = (v & mask[l]) | (out[l] & ~mask[l]);
  }
#endif
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
