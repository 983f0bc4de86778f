// What all memory handlers share: finding host bytes, reporting to the observer, moving data
// between memory and rows. For files in emulator/isa/ only.
//
// A handler computes the address of every lane, tells the observer, then lets a policy (Load,
// Store, an atomic) do the lanes that remain: policies have
//   kBytes, kWrite, kKind, kDwords (0: below a dword or atomic)
//   rows(w, i, p, offset, exec, mask)  the active lanes, lane l at host address p + offset.lane[l]
//   lane(w, i, l, p)                   one lane at host address p
//   dropped(w, i, l)                   a lane whose access was dropped: loads give 0
//   row(w, i, p)                       only if kDwords is 1: all lanes, lane l at p + 4 * l
#pragma once

#include "emulator/context.h"
#include "emulator/isa/isa.h"
#include "emulator/isa/rows.h"
#include "emulator/observer.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// ---- data ----

// Elements of whole dwords.
enum class Data : uint8_t { kB32, kB64, kB96, kB128 };
constexpr uint32_t data_bytes(Data d) { return 4 * (static_cast<uint32_t>(d) + 1); }

// What an 8- or 16-bit load does with the register; kept in Inst::k[0] by the binder. Few policies
// are compiled, because each is compiled once per kind of address, observer and host instruction
// set.
enum class Narrow : uint64_t { kZeroExtend, kSignExtend, kLow, kLowSigned, kHigh, kHighSigned };

// value: zero-extended from memory; old: the register's.
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
  // One read of 64 bits a lane: what another workgroup's 64-bit atomics write is never seen half.
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
    asm("" : "+r"(value));  // one load, as in load_quad()
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
    std::memcpy(&dst, reinterpret_cast<const void*>(p), sizeof(Row));
#endif
  }
  // The same for 128 bits: look-back scans of 64-bit values keep a state and a value in them.
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
    std::memcpy(reinterpret_cast<void*>(p), &data, sizeof(Row));
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

// ---- lanes and the observer ----

// The lanes to perform: EXEC, or less when the observer drops some.
struct Lanes {
  uint32_t exec;
  const Row* mask;
  Row own;  // used when they are not EXEC
};

template <class Observer>
GFXGRAPH_INLINE void all_lanes(Wave& w, Lanes& lanes) {
  lanes.exec = w.exec();
  lanes.mask = &w.exec_mask;
}

// Fewer lanes, for lanes that are done elsewhere.
GFXGRAPH_INLINE void narrow_lanes(Lanes& lanes, uint32_t keep) {
  lanes.exec &= keep;
  Wave::expand_mask(lanes.exec, lanes.own);
  lanes.mask = &lanes.own;
}
template <class P>
GFXGRAPH_INLINE void drop_lanes(Wave& w, const Inst* i, Lanes& lanes, uint32_t keep) {
  for (uint32_t m = lanes.exec & ~keep; m != 0; m &= m - 1)
    P::dropped(w, i, static_cast<unsigned>(std::countr_zero(m)));
  narrow_lanes(lanes, keep);
}

// Emits the event and drops the lanes that the observer took away.
template <class Observer, class P>
GFXGRAPH_INLINE void report(Wave& w, const Inst* i, MemoryEvent& event, Lanes& lanes) {
  event.kind = P::kKind;
  event.access_bytes = P::kBytes;
  event.exec = lanes.exec;
  const uint32_t keep =
      static_cast<Observer*>(w.observer)
          ->memory(*static_cast<typename Observer::WaveState*>(w.observer_state), w, *i, event);
  if (keep != lanes.exec) drop_lanes<P>(w, i, lanes, keep);
}
// For accesses at base + offset.lane[l].
template <class Observer, class P>
GFXGRAPH_INLINE void report_row(Wave& w, const Inst* i, Space space, uint64_t base,
                                const Row& offset, Lanes& lanes) {
  if constexpr (Observer::kMemory) {
    Row64 address;
    for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base + offset.lane[l];
    MemoryEvent event;
    event.space = space;
    event.address = address.lane;
    report<Observer, P>(w, i, event, lanes);
  }
}

// ---- global memory ----

GFXGRAPH_INLINE RegionCacheEntry& cache_entry(Wave& w, const Inst* i) {
  return w.regions[(reinterpret_cast<uintptr_t>(i) >> 6) % Wave::kRegionCacheEntries];
}

// Host address for device address `base`, if [base + lo, base + hi + bytes) is in one range; else
// 0.
template <bool kWrite>
GFXGRAPH_INLINE bool resolve(Wave& w, const Inst* i, uint64_t base, Bounds bounds, uint32_t bytes,
                             uintptr_t& host) {
  RegionCacheEntry& entry = cache_entry(w, i);
  const uint64_t address = base + bounds.lo;
  const uint64_t span = uint64_t{bounds.hi} - bounds.lo + bytes;
  const uint64_t limit = kWrite ? entry.writable_size : entry.size;
  const uint64_t into = address - entry.base;
  if (into >= limit || span > limit - into) [[unlikely]] {
    if (find_range(w, entry, address, span, kWrite) == nullptr) return false;
  }
  host = reinterpret_cast<uintptr_t>(entry.host) + (base - entry.base);
  return true;
}

[[gnu::cold, gnu::noinline]] inline const Inst* raise_access(Wave& w, const Inst* i, FaultKind kind,
                                                             unsigned lane, uint64_t address,
                                                             uint32_t bytes, bool write,
                                                             const char* detail) {
  PendingFault fault;
  fault.kind = kind;
  fault.lane = static_cast<int32_t>(lane);
  fault.address = address;
  fault.access_bytes = bytes;
  fault.write = write;
  fault.detail = detail;
  return w.raise(i, fault);
}

// Lane by lane, any 64-bit address; faults name the first lane.
template <class P>
[[gnu::noinline]] const Inst* global_lanes(Wave& w, const Inst* i, const Row64& address,
                                           uint32_t exec) {
  RegionCacheEntry& entry = cache_entry(w, i);
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const uint64_t a = address.lane[l];
    const uint64_t limit = P::kWrite ? entry.writable_size : entry.size;
    if (a - entry.base >= limit || P::kBytes > limit - (a - entry.base)) {
      if (find_range(w, entry, a, P::kBytes, P::kWrite) == nullptr)
        return raise_access(w, i, FaultKind::kMemory, l, a, P::kBytes, P::kWrite, nullptr);
    }
    if (P::kKind == AccessKind::kAtomic && a % P::kBytes != 0)
      return raise_access(w, i, FaultKind::kAlignment, l, a, P::kBytes, true,
                          "atomics must be aligned");
    P::lane(w, i, l, reinterpret_cast<uintptr_t>(entry.host) + (a - entry.base));
  }
  return i->next();
}

// As global_rows(), with the host address of `base`.
template <class P>
GFXGRAPH_INLINE const Inst* global_rows_at(Wave& w, const Inst* i, uint64_t base, const Row& offset,
                                           const Lanes& lanes, uintptr_t host) {
  if constexpr (P::kKind == AccessKind::kAtomic) {
    uint32_t low = 0;
    for (unsigned l = 0; l < kLanes; ++l)
      low |= (static_cast<uint32_t>(base) + offset.lane[l]) & lanes.mask->lane[l];
    if (low % P::kBytes != 0) [[unlikely]]
      host = 0;
  }
  if (host != 0) [[likely]] {
    P::rows(w, i, host, offset, lanes.exec, *lanes.mask);
    return i->next();
  }
  Row64 address;
  for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base + offset.lane[l];
  return global_lanes<P>(w, i, address, lanes.exec);
}
// Accesses at base + offset.lane[l]; `offset` is the caller's copy, no destination row.
template <class P>
GFXGRAPH_INLINE const Inst* global_rows(Wave& w, const Inst* i, uint64_t base, const Row& offset,
                                        const Lanes& lanes) {
  if (lanes.exec == 0) return i->next();
  uintptr_t host = 0;
  if (!resolve<P::kWrite>(w, i, base, active_bounds(offset, *lanes.mask), P::kBytes, host))
    host = 0;
  return global_rows_at<P>(w, i, base, offset, lanes, host);
}

// Whether all launched lanes, active or not, stay within what the program requested of one region:
// then `host` is where device address `base` is. `high`, if any, are the upper halves of the lanes'
// addresses; active lanes have `hi`.
template <bool kWrite>
GFXGRAPH_INLINE bool launched_within_region(Wave& w, const Inst* i, uint64_t base,
                                            const Row& offset, uint32_t bytes, const Row* high,
                                            uint32_t hi, uintptr_t& host) {
  RegionCacheEntry& entry = cache_entry(w, i);
  const uint32_t lanes = w.exec() | w.launched_lanes;
  Bounds bounds;
  if (lanes == w.exec()) [[likely]] {
    bounds = active_bounds(offset, w.exec_mask);
  } else {
    Row mask;
    Wave::expand_mask(lanes, mask);
    if (high != nullptr && !active_equal(*high, hi, mask)) return false;
    bounds = active_bounds(offset, mask);
  }
  const uint64_t address = base + bounds.lo;
  const uint64_t span = uint64_t{bounds.hi} - bounds.lo + bytes;
  const auto within = [&] {
    const uint64_t limit = kWrite && entry.writable_size == 0 ? uint64_t{0} : entry.requested_size;
    const uint64_t into = address - entry.base;
    return into < limit && span <= limit - into;
  };
  if (!within()) [[unlikely]] {
    // Inactive lanes may lead anywhere: not worth a search.
    if (lanes != w.exec() || find_range(w, entry, address, span, kWrite) == nullptr || !within())
      return false;
  }
  host = reinterpret_cast<uintptr_t>(entry.host) + (base - entry.base);
  return true;
}

// The usual access: all lanes, a dword each, one after the other from `address` on. False: it is
// for the longer way, and nothing was done.
template <class Observer, class P>
GFXGRAPH_INLINE bool whole_row(Wave& w, const Inst* i, uint64_t address) {
  if constexpr (P::kKind == AccessKind::kAtomic || (Observer::kMemory && !Observer::kSuspectsOnly))
    return false;
  RegionCacheEntry& entry = cache_entry(w, i);
  uint64_t limit = P::kWrite ? entry.writable_size : entry.size;
  if (Observer::kMemory && limit != 0) limit = entry.requested_size;
  const uint64_t into = address - entry.base;
  if (limit < sizeof(Row) || into > limit - sizeof(Row)) [[unlikely]]
    return false;
  if constexpr (!P::kWrite) {
    // A loop's next round is likely to read as far ahead as this one did of the last.
    const uint64_t ahead = into + (into - entry.last_offset);
    entry.last_offset = into;
    if (ahead < limit) {
      __builtin_prefetch(entry.host + ahead);
      __builtin_prefetch(entry.host + ahead + 64);
    }
  }
  P::row(w, i, reinterpret_cast<uintptr_t>(entry.host) + into);
  return true;
}

// Tells the observer, if it wants to know, and does what it leaves.
template <class Observer, class P>
GFXGRAPH_INLINE const Inst* global_access(Wave& w, const Inst* i, uint64_t base,
                                          const Row& offset) {
  if constexpr (P::kDwords == 1) {
    if (w.exec() == ~0u && in_a_row(offset) && whole_row<Observer, P>(w, i, base + offset.lane[0]))
        [[likely]]
      return i->next();
  }
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kSuspectsOnly) {
    uintptr_t host = 0;
    if (launched_within_region<P::kWrite>(w, i, base, offset, P::kBytes, nullptr, 0, host))
        [[likely]]
      return global_rows_at<P>(w, i, base, offset, lanes, host);
  }
  report_row<Observer, P>(w, i, Space::kGlobal, base, offset, lanes);
  return global_rows<P>(w, i, base, offset, lanes);
}

// ---- LDS ----

// Lanes some of which are out of range: reads give 0, writes vanish.
template <class P>
[[gnu::noinline]] void lds_lanes(Wave& w, const Inst* i, const Row& address, uint32_t exec) {
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (uint64_t{address.lane[l]} + P::kBytes <= w.group->lds_bytes)
      P::lane(w, i, l, reinterpret_cast<uintptr_t>(w.group->lds) + address.lane[l]);
    else
      P::dropped(w, i, l);
  }
}
// Accesses at register + imm, which wraps at 32 bits: compilers fold negative offsets so.
template <class Observer, class P>
GFXGRAPH_INLINE const Inst* lds_rows(Wave& w, const Inst* i, uint32_t imm, const Row& base) {
  Row address;
  for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base.lane[l] + imm;
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kLds) report_row<Observer, P>(w, i, Space::kLds, 0, address, lanes);
  if (lanes.exec == 0) return i->next();
  const Bounds bounds = active_bounds(address, *lanes.mask);
  if (uint64_t{bounds.hi} + P::kBytes <= w.group->lds_bytes) [[likely]]
    P::rows(w, i, reinterpret_cast<uintptr_t>(w.group->lds), address, lanes.exec, *lanes.mask);
  else
    lds_lanes<P>(w, i, address, lanes.exec);
  return i->next();
}

// ---- scratch ----
//
// A lane's private byte o is at base + (o / 4) * 128 + lane * 4 + o % 4: the swizzle that the SRD
// in s0..s3 and the FLAT private aperture share (element 4 bytes, index stride 32; in a wave64 64
// and rows of 256 bytes).

GFXGRAPH_INLINE uint64_t swizzled(const Wave& w, uint64_t offset, unsigned lane) {
  return (offset >> 2) * w.scratch_row + (w.first_lane + lane) * 4 + (offset & 3);
}

template <class P>
[[gnu::noinline]] const Inst* scratch_lanes(Wave& w, const Inst* i, uint64_t base,
                                            const Row& offset, uint32_t exec) {
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    alignas(16) uint8_t bytes[16] = {};
    std::byte* host[16] = {};
    for (uint32_t b = 0; b < P::kBytes; ++b) {
      const uint64_t at = base + swizzled(w, uint64_t{offset.lane[l]} + b, l) - w.scratch_base;
      if (at >= w.scratch_bytes)
        return raise_access(w, i, FaultKind::kMemory, l, base + swizzled(w, offset.lane[l], l),
                            P::kBytes, P::kWrite, "outside of the wave's scratch memory");
      host[b] = w.scratch + at;
      bytes[b] = static_cast<uint8_t>(*host[b]);
    }
    P::lane(w, i, l, reinterpret_cast<uintptr_t>(bytes));
    if constexpr (P::kWrite)
      for (uint32_t b = 0; b < P::kBytes; ++b) *host[b] = static_cast<std::byte>(bytes[b]);
  }
  return i->next();
}

// `base`: device address; `offset`: the lanes' private offsets (the caller's copy).
template <class Observer, class P>
GFXGRAPH_INLINE const Inst* scratch_rows(Wave& w, const Inst* i, uint64_t base, const Row& offset,
                                         uint32_t only) {
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if (only != ~0u) narrow_lanes(lanes, only);
  if constexpr (Observer::kMemory) {
    Row64 address;
    for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base + swizzled(w, offset.lane[l], l);
    MemoryEvent event;
    event.space = Space::kScratch;
    event.address = address.lane;
    event.other_space = ~only;
    report<Observer, P>(w, i, event, lanes);
  }
  if (lanes.exec == 0) return i->next();
  if constexpr (P::kDwords > 0 && P::kKind != AccessKind::kAtomic) {
    const Bounds bounds = active_bounds(offset, *lanes.mask);
    const uint32_t row = w.scratch_row;
    const uint32_t first = w.first_lane * 4;
    Row rows;
    uint32_t low = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      low |= offset.lane[l] & lanes.mask->lane[l];
      rows.lane[l] = (offset.lane[l] >> 2) * row + first + l * 4;
    }
    const uint64_t into = base - w.scratch_base;
    const uint64_t end = (uint64_t{bounds.hi} / 4 + P::kDwords) * row;
    if (low % 4 == 0 && into <= w.scratch_bytes && end <= w.scratch_bytes - into) {
      const uintptr_t p = reinterpret_cast<uintptr_t>(w.scratch) + into;
      for (uint32_t d = 0; d < P::kDwords; ++d) {
        if constexpr (P::kWrite)
          Store<Data::kB32>::from(&w.v(i->src[1]) + d, p + d * row, rows, lanes.exec);
        else
          Load<Data::kB32>::into(&w.v(i->dst) + d, p + d * row, rows, lanes.exec, *lanes.mask);
      }
      return i->next();
    }
  }
  return scratch_lanes<P>(w, i, base, offset, lanes.exec);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
