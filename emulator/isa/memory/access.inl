// Common parts of all memory handlers: finding host bytes and reporting to the observer. For files
// in emulator/isa/ only.
//
// A handler computes the address of every lane, notifies the observer, then applies a policy (Load,
// Store, an atomic) to the remaining lanes.
#pragma once

#include "emulator/isa/memory/data.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// ---- lanes and the observer ----

// The lanes to execute: EXEC, or fewer if the observer drops some.
struct Lanes {
  uint32_t exec;
  const Row* mask;
  Row own;  // storage if the lanes differ from EXEC
};

template <class Observer>
GFXGRAPH_INLINE void all_lanes(Wave& w, Lanes& lanes) {
  lanes.exec = w.exec();
  lanes.mask = &w.exec_mask;
}

// Removes lanes that are handled elsewhere.
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

// Emits the event and removes the lanes that the observer dropped.
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
                                const Row& offset, Lanes& lanes, uint64_t pointer = 0) {
  if constexpr (Observer::kMemory) {
    Row64 address;
    for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base + offset.lane[l];
    MemoryEvent event;
    event.space = space;
    event.address = address.lane;
    event.pointer = pointer;
    report<Observer, P>(w, i, event, lanes);
  }
}

// ---- global memory ----

GFXGRAPH_INLINE RegionCacheEntry& cache_entry(Wave& w, const Inst* i) {
  return w.regions[(reinterpret_cast<uintptr_t>(i) >> 6) % Wave::kRegionCacheEntries];
}

// Host address for device address `base` if [base + lo, base + hi + bytes) lies in one range; else
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

// One lane at a time, any 64-bit address; faults name the first lane.
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

// Like global_rows(), with the host address of `base`.
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

// Whether all launched lanes, active or not, stay within the requested bytes of one region. If so,
// sets `host` to the host address of device address `base`, and `bounds` to where these lanes are.
// `high`, if not null, has the upper halves of the lanes' addresses; those of active lanes equal
// `hi`.
template <bool kWrite>
GFXGRAPH_INLINE bool launched_within_region(Wave& w, const Inst* i, uint64_t base,
                                            const Row& offset, uint32_t bytes, const Row* high,
                                            uint32_t hi, Bounds& bounds, uintptr_t& host) {
  RegionCacheEntry& entry = cache_entry(w, i);
  const uint32_t lanes = w.exec() | w.launched_lanes;
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
    // Inactive lanes may have any address: no search for them.
    if (lanes != w.exec() || find_range(w, entry, address, span, kWrite) == nullptr || !within())
      return false;
  }
  host = reinterpret_cast<uintptr_t>(entry.host) + (base - entry.base);
  return true;
}

template <class Observer>
inline constexpr bool takes_rows = requires { &Observer::row; };

// The common access: all lanes, one dword each, contiguous from `address`. Returns false, without
// side effects, if the general path must handle it.
template <class Observer, class P>
GFXGRAPH_INLINE bool whole_row(Wave& w, const Inst* i, uint64_t address) {
  constexpr bool kAsks = Observer::kMemory && !Observer::kSuspectsOnly;
  if constexpr (P::kKind == AccessKind::kAtomic || (kAsks && !takes_rows<Observer>)) return false;
  RegionCacheEntry& entry = cache_entry(w, i);
  uint64_t limit = P::kWrite ? entry.writable_size : entry.size;
  if (Observer::kMemory && limit != 0) limit = entry.requested_size;
  const uint64_t into = address - entry.base;
  if (limit < sizeof(Row) || into > limit - sizeof(Row)) [[unlikely]]
    return false;
  if constexpr (kAsks && takes_rows<Observer>) {
    auto& state = *static_cast<typename Observer::WaveState*>(w.observer_state);
    if (!static_cast<Observer*>(w.observer)->row(state, w, *i, P::kKind, address)) return false;
  }
  if constexpr (!P::kWrite) {
    // The next iteration of a loop probably reads as far ahead as this one did.
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

// Whether SADDR, if present, points into the region found for the access.
template <class Observer>
GFXGRAPH_INLINE bool points_there(Wave& w, const Inst* i, uint64_t pointer) {
  if constexpr (!Observer::kMemory) return true;
  const RegionCacheEntry& entry = cache_entry(w, i);
  return pointer == 0 || pointer - entry.base < entry.requested_size;
}

// Whether active lanes of an atomic are not aligned to its size, `base` included.
template <class P>
GFXGRAPH_INLINE bool is_misaligned(uint64_t base, const Row& offset, const Row& mask) {
  if constexpr (P::kKind != AccessKind::kAtomic) return false;
  uint32_t low = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    low |= (static_cast<uint32_t>(base) + offset.lane[l]) & mask.lane[l];
  return low % P::kBytes != 0;
}

// Whether the observer can do with the ends of an access.
template <class Observer>
GFXGRAPH_INLINE bool wants_spans(const Wave& w) {
  if constexpr (requires { &Observer::span; })
    return static_cast<const Observer*>(w.observer)->wants_spans();
  return false;
}
template <class Observer, class P>
GFXGRAPH_INLINE bool span_is_enough(Wave& w, const Inst* i, Space space, uint64_t base,
                                    Bounds bounds) {
  if constexpr (requires { &Observer::span; }) {
    AccessSpan span;
    span.space = space;
    span.kind = P::kKind;
    span.access_bytes = P::kBytes;
    span.first = base + bounds.lo;
    span.bytes = uint64_t{bounds.hi} - bounds.lo + P::kBytes;
    auto& state = *static_cast<typename Observer::WaveState*>(w.observer_state);
    return static_cast<Observer*>(w.observer)->span(state, w, *i, span);
  }
  return false;
}

// Whether an access needs no event: of a row that is not whole, as `high` and `hi` in
// launched_within_region(). Sets `host` for global_rows_at().
template <class Observer, class P>
GFXGRAPH_INLINE bool needs_no_event(Wave& w, const Inst* i, uint64_t pointer, uint64_t base,
                                    const Row& offset, const Row* high, uint32_t hi,
                                    uintptr_t& host) {
  if (!Observer::kSuspectsOnly && !wants_spans<Observer>(w)) return false;
  Bounds bounds;
  return launched_within_region<P::kWrite>(w, i, base, offset, P::kBytes, high, hi, bounds, host) &&
         points_there<Observer>(w, i, pointer) && !is_misaligned<P>(base, offset, w.exec_mask) &&
         (Observer::kSuspectsOnly ||
          span_is_enough<Observer, P>(w, i, Space::kGlobal, base, bounds));
}

// Notifies the observer if it wants the event, and executes the remaining lanes. `pointer`: SADDR,
// or 0.
template <class Observer, class P>
GFXGRAPH_INLINE const Inst* global_access(Wave& w, const Inst* i, uint64_t pointer, uint64_t base,
                                          const Row& offset) {
  if constexpr (P::kDwords == 1) {
    if (w.exec() == ~0u && in_a_row(offset) && points_there<Observer>(w, i, pointer) &&
        whole_row<Observer, P>(w, i, base + offset.lane[0])) [[likely]]
      return i->next();
  }
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kMemory) {
    uintptr_t host = 0;
    if (needs_no_event<Observer, P>(w, i, pointer, base, offset, nullptr, 0, host)) [[likely]]
      return global_rows_at<P>(w, i, base, offset, lanes, host);
  }
  report_row<Observer, P>(w, i, Space::kGlobal, base, offset, lanes, pointer);
  return global_rows<P>(w, i, base, offset, lanes);
}

// ---- LDS ----

// Some lanes are out of range: their reads return 0, their writes are dropped.
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
template <class Observer, class P>
GFXGRAPH_INLINE bool lds_span_is_enough(Wave& w, const Inst* i, const Row& address) {
  if (!wants_spans<Observer>(w) || w.exec() == 0) return false;
  const Bounds bounds = active_bounds(address, w.exec_mask);
  return uint64_t{bounds.hi} + P::kBytes <= w.group->lds_requested &&
         !is_misaligned<P>(0, address, w.exec_mask) &&
         span_is_enough<Observer, P>(w, i, Space::kLds, 0, bounds);
}
// Accesses at register + imm, wrapping at 32 bits, because compilers fold negative offsets that
// way.
template <class Observer, class P>
GFXGRAPH_INLINE const Inst* lds_rows(Wave& w, const Inst* i, uint32_t imm, const Row& base) {
  Row address;
  for (unsigned l = 0; l < kLanes; ++l) address.lane[l] = base.lane[l] + imm;
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if constexpr (Observer::kLds && !Observer::kSuspectsOnly)
    if (!lds_span_is_enough<Observer, P>(w, i, address))
      report_row<Observer, P>(w, i, Space::kLds, 0, address, lanes);
  if (lanes.exec == 0) return i->next();
  const Bounds bounds = active_bounds(address, *lanes.mask);
  if constexpr (Observer::kLds && Observer::kSuspectsOnly) {
    if (uint64_t{bounds.hi} + P::kBytes > w.group->lds_requested ||
        is_misaligned<P>(0, address, *lanes.mask)) [[unlikely]] {
      report_row<Observer, P>(w, i, Space::kLds, 0, address, lanes);
      lds_lanes<P>(w, i, address, lanes.exec);
      return i->next();
    }
  }
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
