// Loads and stores as policies: how an access moves data between memory and rows once its address
// is known. For files in emulator/isa/ only.
//
// A policy has
//   kBytes, kWrite, kKind, kDwords (0: below a dword or atomic)
//   rows(w, i, p, offset, exec, mask)  the active lanes, lane l at host address p + offset.lane[l]
//   lane(w, i, l, p)                   one lane at host address p
//   dropped(w, i, l)                   a lane whose access was dropped: loads give 0
//   row(w, i, p)                       only if kDwords is 1: all lanes, lane l at p + 4 * l
#pragma once

#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"
#include "emulator/isa/isa.h"
#include "emulator/isa/memory/rows.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// 128 bytes, which do not overlap. In pieces, because GCC makes memcpy() of this size a slow
// "rep movs" where it takes code for rarely run: behind many tests that are usually true.
GFXGRAPH_INLINE void copy_row_bytes(void* to, const void* from) {
  using Piece [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]] = uint32_t;
  for (unsigned n = 0; n < sizeof(Row) / sizeof(Piece); ++n)
    static_cast<Piece*>(to)[n] = static_cast<const Piece*>(from)[n];
}

// Elements of whole dwords.
enum class Data : uint8_t { kB32, kB64, kB96, kB128 };
constexpr uint32_t data_bytes(Data d) { return 4 * (static_cast<uint32_t>(d) + 1); }

// How an 8- or 16-bit load updates the register; the binder stores it in Inst::k[0]. The number of
// policies is kept small, because each is compiled once per kind of address, observer and host
// instruction set.
enum class Narrow : uint64_t { kZeroExtend, kSignExtend, kLow, kLowSigned, kHigh, kHighSigned };

// value: zero-extended from memory; old: previous register contents.
GFXGRAPH_INLINE uint32_t narrow_value(Narrow kind, uint32_t bits, uint32_t value, uint32_t old) {
  const uint32_t sign_bit = 1u << (bits - 1);
  const uint32_t extended = (value ^ sign_bit) - sign_bit;
  switch (kind) {
    case Narrow::kZeroExtend: return value;
    case Narrow::kSignExtend: return extended;
    case Narrow::kLow: return (old & 0xffff0000u) | value;
    case Narrow::kLowSigned: return (old & 0xffff0000u) | (extended & 0xffffu);
    case Narrow::kHigh: return (old & 0xffffu) | value << 16;
    default: return (old & 0xffffu) | extended << 16;
  }
}

template <typename T>  // uint8_t, uint16_t
struct NarrowLoad {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = 0;
  static constexpr bool kWrite = false;
  static constexpr AccessKind kKind = AccessKind::kLoad;
  template <Narrow kKind2>
  GFXGRAPH_INLINE static void merge(Row& dst, const Row& value, const Row& mask) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t merged = narrow_value(kKind2, kBytes * 8, value.lane[l], dst.lane[l]);
      dst.lane[l] = (merged & mask.lane[l]) | (dst.lane[l] & ~mask.lane[l]);
    }
  }
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row& mask) {
    Row value;
    if (exec == ~0u) {
      for (unsigned l = 0; l < kLanes; ++l) value.lane[l] = load_host<T>(p + offset.lane[l]);
    } else {
      value = Row{};
      for (uint32_t m = exec; m != 0; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        value.lane[l] = load_host<T>(p + offset.lane[l]);
      }
    }
    Row& dst = w.v(i->dst);
    switch (static_cast<Narrow>(i->k[0])) {
      case Narrow::kZeroExtend: return merge<Narrow::kZeroExtend>(dst, value, mask);
      case Narrow::kSignExtend: return merge<Narrow::kSignExtend>(dst, value, mask);
      case Narrow::kLow: return merge<Narrow::kLow>(dst, value, mask);
      case Narrow::kLowSigned: return merge<Narrow::kLowSigned>(dst, value, mask);
      case Narrow::kHigh: return merge<Narrow::kHigh>(dst, value, mask);
      case Narrow::kHighSigned: return merge<Narrow::kHighSigned>(dst, value, mask);
    }
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    uint32_t& dst = w.v(i->dst).lane[l];
    dst = narrow_value(static_cast<Narrow>(i->k[0]), kBytes * 8, load_host<T>(p), dst);
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    uint32_t& dst = w.v(i->dst).lane[l];
    dst = narrow_value(static_cast<Narrow>(i->k[0]), kBytes * 8, 0, dst);
  }
};

// Inst::k[0]: 16 to store from the high half, else 0.
template <typename T>
struct NarrowStore {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = 0;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kStore;
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    const Row& data = w.v(i->src[1]);
    const auto shift = static_cast<uint32_t>(i->k[0]);
    for (uint32_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      store_host(p + offset.lane[l], static_cast<T>(data.lane[l] >> shift));
    }
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    store_host(p, static_cast<T>(w.v(i->src[1]).lane[l] >> i->k[0]));
  }
  GFXGRAPH_INLINE static void dropped(Wave&, const Inst*, unsigned) {}
};

template <Data D>
struct Load {
  static constexpr uint32_t kBytes = data_bytes(D);
  static constexpr uint32_t kDwords = kBytes / 4;
  static constexpr bool kWrite = false;
  static constexpr AccessKind kKind = AccessKind::kLoad;

  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row& mask) {
    Row* dst = &w.v(i->dst);
    into(dst, p, offset, exec, mask);
  }
  // `offset` must not be one of the destination rows.
  GFXGRAPH_INLINE static void into(Row* dst, uintptr_t p, const Row& offset, uint32_t exec,
                                   const Row& mask) {
    if constexpr (kDwords == 1) {
      if (exec == ~0u && contiguous<4>(offset)) {
        copy_row(*dst, p + offset.lane[0]);
      } else {
        gather32(*dst, p, offset, mask);
      }
    } else if constexpr (kDwords == 2) {
      pairs(dst, p, offset, exec);
    } else if constexpr (kDwords == 4) {
      quads(dst, p, offset, exec);
    } else {
      for (uint32_t d = 0; d < kDwords; ++d) gather32(dst[d], p + 4 * d, offset, mask);
    }
  }
  // One 64-bit read per lane, so that 64-bit atomics of other workgroups are never seen half
  // written.
  GFXGRAPH_INLINE static void pairs(Row* dst, uintptr_t p, const Row& offset, uint32_t exec) {
#if defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
    if (exec == ~0u) {
      for (unsigned l = 0; l < kLanes; l += 4) {
        const __m128 a = two_lanes(p + offset.lane[l], p + offset.lane[l + 1]);
        const __m128 b = two_lanes(p + offset.lane[l + 2], p + offset.lane[l + 3]);
        _mm_store_ps(reinterpret_cast<float*>(&dst[0].lane[l]), _mm_shuffle_ps(a, b, 0x88));
        _mm_store_ps(reinterpret_cast<float*>(&dst[1].lane[l]), _mm_shuffle_ps(a, b, 0xdd));
      }
      return;
    }
#endif
    for (uint32_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      put_pair(dst, l, load_host<uint64_t>(p + offset.lane[l]));
    }
  }
  GFXGRAPH_INLINE static void put_pair(Row* dst, unsigned l, uint64_t value) {
    asm("" : "+r"(value));  // forces one load, as in load_quad()
    dst[0].lane[l] = static_cast<uint32_t>(value);
    dst[1].lane[l] = static_cast<uint32_t>(value >> 32);
  }
#if defined(__AVX2__)
  GFXGRAPH_INLINE static __m128 two_lanes(uintptr_t first, uintptr_t second) {
    const __m128d low = _mm_load_sd(reinterpret_cast<const double*>(first));
    return _mm_castpd_ps(_mm_loadh_pd(low, reinterpret_cast<const double*>(second)));
  }
#endif
  GFXGRAPH_INLINE static void copy_row(Row& dst, uintptr_t p) {
#if defined(__SANITIZE_THREAD__)
    for (unsigned l = 0; l < kLanes; ++l) dst.lane[l] = load_host<uint32_t>(p + 4 * l);
#else
    copy_row_bytes(&dst, reinterpret_cast<const void*>(p));
#endif
  }
  // The same for 128 bits: look-back scans of 64-bit values store a state and a value in them.
  GFXGRAPH_INLINE static void quads(Row* dst, uintptr_t p, const Row& offset, uint32_t exec) {
#if defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
    if (exec == ~0u) return transpose4(dst, p, offset);
#endif
    for (uint32_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      put_quad(dst, l, p + offset.lane[l]);
    }
  }
  GFXGRAPH_INLINE static void put_quad(Row* dst, unsigned l, uintptr_t p) {
    const Quad value = load_quad(p);
    for (unsigned d = 0; d < 4; ++d) dst[d].lane[l] = value.dword[d];
  }
#if defined(__AVX2__)
  // Eight lanes at a time: 16 bytes of lanes l and l + 4 in the halves of a vector, then 4x4
  // transposes.
  GFXGRAPH_INLINE static void transpose4(Row* dst, uintptr_t p, const Row& offset) {
    for (unsigned l = 0; l < kLanes; l += 8) {
      const __m256i a = pair_of_lanes(p + offset.lane[l + 0], p + offset.lane[l + 4]);
      const __m256i b = pair_of_lanes(p + offset.lane[l + 1], p + offset.lane[l + 5]);
      const __m256i c = pair_of_lanes(p + offset.lane[l + 2], p + offset.lane[l + 6]);
      const __m256i d = pair_of_lanes(p + offset.lane[l + 3], p + offset.lane[l + 7]);
      const __m256i ab_lo = _mm256_unpacklo_epi32(a, b);
      const __m256i ab_hi = _mm256_unpackhi_epi32(a, b);
      const __m256i cd_lo = _mm256_unpacklo_epi32(c, d);
      const __m256i cd_hi = _mm256_unpackhi_epi32(c, d);
      _mm256_store_si256(reinterpret_cast<__m256i*>(&dst[0].lane[l]),
                         _mm256_unpacklo_epi64(ab_lo, cd_lo));
      _mm256_store_si256(reinterpret_cast<__m256i*>(&dst[1].lane[l]),
                         _mm256_unpackhi_epi64(ab_lo, cd_lo));
      _mm256_store_si256(reinterpret_cast<__m256i*>(&dst[2].lane[l]),
                         _mm256_unpacklo_epi64(ab_hi, cd_hi));
      _mm256_store_si256(reinterpret_cast<__m256i*>(&dst[3].lane[l]),
                         _mm256_unpackhi_epi64(ab_hi, cd_hi));
    }
  }
  GFXGRAPH_INLINE static __m256i pair_of_lanes(uintptr_t low, uintptr_t high) {
    const __m128i lo = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lo),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
  }
#endif
  // All lanes, one dword each, from p on.
  GFXGRAPH_INLINE static void row(Wave& w, const Inst* i, uintptr_t p) { copy_row(w.v(i->dst), p); }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    Row* dst = &w.v(i->dst);
    if constexpr (kDwords == 2) return put_pair(dst, l, load_host<uint64_t>(p));
    if constexpr (kDwords == 4) return put_quad(dst, l, p);
    for (uint32_t d = 0; d < kDwords; ++d) dst[d].lane[l] = load_host<uint32_t>(p + 4 * d);
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    alignas(16) static constexpr uint8_t kZeros[16] = {};
    lane(w, i, l, reinterpret_cast<uintptr_t>(kZeros));
  }
};

template <Data D>
struct Store {
  static constexpr uint32_t kBytes = data_bytes(D);
  static constexpr uint32_t kDwords = kBytes / 4;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kStore;

  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    from(&w.v(i->src[1]), p, offset, exec);
  }
  GFXGRAPH_INLINE static void from(const Row* data, uintptr_t p, const Row& offset, uint32_t exec) {
    if constexpr (kDwords == 1) {
      if (exec == ~0u && contiguous<4>(offset)) return copy_row(*data, p + offset.lane[0]);
    }
    if (exec == ~0u) {
      for (unsigned l = 0; l < kLanes; ++l) put(data, l, p + offset.lane[l]);
    } else {
      for (uint32_t m = exec; m != 0; m &= m - 1) {
        const auto l = static_cast<unsigned>(std::countr_zero(m));
        put(data, l, p + offset.lane[l]);
      }
    }
  }
  GFXGRAPH_INLINE static void copy_row(const Row& data, uintptr_t p) {
#if defined(__SANITIZE_THREAD__)
    for (unsigned l = 0; l < kLanes; ++l) store_host(p + 4 * l, data.lane[l]);
#else
    copy_row_bytes(reinterpret_cast<void*>(p), &data);
#endif
  }
  GFXGRAPH_INLINE static void row(Wave& w, const Inst* i, uintptr_t p) {
    copy_row(w.v(i->src[1]), p);
  }
  GFXGRAPH_INLINE static void put(const Row* data, unsigned l, uintptr_t p) {
    const uint32_t value = data->lane[l];
    if constexpr (kDwords == 1) store_host(p, value);
    if constexpr (kDwords == 2) store_host(p, value | uint64_t{data[1].lane[l]} << 32);
    if constexpr (kDwords == 4)
      store_quad(p, Quad{{value, data[1].lane[l], data[2].lane[l], data[3].lane[l]}});
    if constexpr (kDwords == 3)
      for (uint32_t d = 0; d < kDwords; ++d) store_host(p + 4 * d, data[d].lane[l]);
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    put(&w.v(i->src[1]), l, p);
  }
  GFXGRAPH_INLINE static void dropped(Wave&, const Inst*, unsigned) {}
};

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
