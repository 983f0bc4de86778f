// 32-lane building blocks of the memory handlers. For files in emulator/isa/ only.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "emulator/engine/wave.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// A 64-bit value per lane.
struct alignas(64) Row64 {
  uint64_t lane[kLanes];
};

// The smallest and largest value of the active lanes; for no active lane, lo > hi.
struct Bounds {
  uint32_t lo, hi;
};
GFXGRAPH_INLINE Bounds active_bounds(const Row& row, const Row& mask) {
  uint32_t lo = ~0u;
  uint32_t hi = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t up = row.lane[l] | ~mask.lane[l];
    const uint32_t down = row.lane[l] & mask.lane[l];
    lo = up < lo ? up : lo;
    hi = down > hi ? down : hi;
  }
  return {lo, hi};
}

// Whether all active lanes hold `value`.
GFXGRAPH_INLINE bool active_equal(const Row& row, uint32_t value, const Row& mask) {
  uint32_t difference = 0;
  for (unsigned l = 0; l < kLanes; ++l) difference |= (row.lane[l] ^ value) & mask.lane[l];
  return difference == 0;
}

// Whether lane l holds lane 0's value + l * step, for all lanes.
template <uint32_t kStep>
GFXGRAPH_INLINE bool contiguous(const Row& row) {
  const uint32_t first = row.lane[0];
  uint32_t difference = 0;
  for (unsigned l = 0; l < kLanes; ++l) difference |= row.lane[l] ^ (first + l * kStep);
  return difference == 0;
}

// The same for dwords one after the other, which do not wrap around.
GFXGRAPH_INLINE bool in_a_row(const Row& offset) {
  return offset.lane[0] <= ~0u - 4 * kLanes && contiguous<4>(offset);
}

// dst = mask ? value : dst.
GFXGRAPH_INLINE void blend_into(Row& dst, const Row& value, const Row& mask) {
  for (unsigned l = 0; l < kLanes; ++l)
    dst.lane[l] = (value.lane[l] & mask.lane[l]) | (dst.lane[l] & ~mask.lane[l]);
}

// lane[l] = from.lane[lane[l]]; the lanes' numbers are below 32.
GFXGRAPH_INLINE void take_lanes(Row& row, const Row& from) {
#if defined(__AVX512F__)
  const __m512i low = _mm512_load_si512(&from.lane[0]);
  const __m512i high = _mm512_load_si512(&from.lane[16]);
  for (unsigned l = 0; l < kLanes; l += 16) {
    const __m512i index = _mm512_load_si512(&row.lane[l]);
    _mm512_store_si512(&row.lane[l], _mm512_permutex2var_epi32(low, index, high));
  }
#elif defined(__AVX2__)
  // Eight lanes at a time: the lane within its eight by a permutation of each eight, then bits 3
  // and 4 of its number choose among the four results (a blend looks at the sign).
  const auto eight = [](const uint32_t* p) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  };
  const auto choose = [](__m256i no, __m256i yes, __m256i sign) {
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(no), _mm256_castsi256_ps(yes),
                                                _mm256_castsi256_ps(sign)));
  };
  const __m256i a = eight(&from.lane[0]), b = eight(&from.lane[8]), c = eight(&from.lane[16]),
                d = eight(&from.lane[24]);
  for (unsigned l = 0; l < kLanes; l += 8) {
    const __m256i index = eight(&row.lane[l]);
    const __m256i bit3 = _mm256_slli_epi32(index, 28);
    const __m256i low =
        choose(_mm256_permutevar8x32_epi32(a, index), _mm256_permutevar8x32_epi32(b, index), bit3);
    const __m256i high =
        choose(_mm256_permutevar8x32_epi32(c, index), _mm256_permutevar8x32_epi32(d, index), bit3);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&row.lane[l]),
                       choose(low, high, _mm256_slli_epi32(index, 27)));
  }
#else
  for (unsigned l = 0; l < kLanes; ++l) row.lane[l] = from.lane[row.lane[l] & 31];
#endif
}

// Under the thread sanitizer aligned accesses are atomic, as they are on the machine; lanes of
// several waves may meet in one word (spin locks).
template <typename T>
GFXGRAPH_INLINE T load_host(uintptr_t p) {
#if defined(__SANITIZE_THREAD__)
  if (p % sizeof(T) == 0) return __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_ACQUIRE);
#endif
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(p), sizeof(T));
  return value;
}
template <typename T>
GFXGRAPH_INLINE void store_host(uintptr_t p, T value) {
#if defined(__SANITIZE_THREAD__)
  if (p % sizeof(T) == 0) return __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELEASE);
#endif
  std::memcpy(reinterpret_cast<void*>(p), &value, sizeof(T));
}

// 128 bits, in one access where they are aligned.
struct alignas(16) Quad {
  uint32_t dword[4];
};
GFXGRAPH_INLINE Quad load_quad(uintptr_t p) {
  Quad value;
#if defined(__SANITIZE_THREAD__)  // which knows no accesses of this size
  for (unsigned d = 0; d < 4; ++d) value.dword[d] = load_host<uint32_t>(p + 4 * d);
#else
  __m128i whole = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  asm("" : "+x"(whole));  // else a compiler may load the dwords one by one
  _mm_store_si128(reinterpret_cast<__m128i*>(&value), whole);
#endif
  return value;
}
GFXGRAPH_INLINE void store_quad(uintptr_t p, const Quad& value) {
#if defined(__SANITIZE_THREAD__)
  for (unsigned d = 0; d < 4; ++d) store_host(p + 4 * d, value.dword[d]);
#else
  __m128i whole = _mm_load_si128(reinterpret_cast<const __m128i*>(&value));
  asm("" : "+x"(whole));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), whole);
#endif
}

// ---- 32-bit gathers: dst[l] = *(p + offset[l]) for lanes in the mask, others keep dst ----
#if defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
// Offsets are unsigned; the instruction's are signed: both are moved by 2^31.
GFXGRAPH_INLINE void gather32(Row& dst, uintptr_t p, const Row& offset, const Row& mask) {
  const auto* base = reinterpret_cast<const int*>(p + 0x80000000u);
#if defined(__AVX512F__)
  const __m512i bias = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  for (unsigned l = 0; l < kLanes; l += 16) {
    const __m512i index = _mm512_xor_si512(_mm512_load_si512(&offset.lane[l]), bias);
    const __m512i m = _mm512_load_si512(&mask.lane[l]);
    const __m512i old = _mm512_load_si512(&dst.lane[l]);
    _mm512_store_si512(&dst.lane[l], _mm512_mask_i32gather_epi32(old, _mm512_test_epi32_mask(m, m),
                                                                 index, base, 1));
  }
#else
  const __m256i bias = _mm256_set1_epi32(static_cast<int>(0x80000000u));
  for (unsigned l = 0; l < kLanes; l += 8) {
    const auto* offsets = reinterpret_cast<const __m256i*>(&offset.lane[l]);
    const __m256i index = _mm256_xor_si256(_mm256_load_si256(offsets), bias);
    const __m256i m = _mm256_load_si256(reinterpret_cast<const __m256i*>(&mask.lane[l]));
    auto* to = reinterpret_cast<__m256i*>(&dst.lane[l]);
    _mm256_store_si256(to, _mm256_mask_i32gather_epi32(_mm256_load_si256(to), base, index, m, 1));
  }
#endif
}
#else
GFXGRAPH_INLINE void gather32(Row& dst, uintptr_t p, const Row& offset, const Row& mask) {
  for (unsigned l = 0; l < kLanes; ++l)
    if (mask.lane[l]) dst.lane[l] = load_host<uint32_t>(p + offset.lane[l]);
}
#endif

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
