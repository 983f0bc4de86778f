// FLAT, GLOBAL and SCRATCH instructions, and SMEM loads.
// Source: RDNA2 ISA guide, "Flat Memory Instructions", "Scalar Memory Operations"; apertures as in
// AMDGPUUsage.
#pragma once

#include "emulator/isa/memory/atomics.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

GFXGRAPH_INLINE unsigned first_lane(uint32_t exec) {
  return exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
}

// Lanes whose addresses do not share their upper 32 bits.
template <class Observer, class P>
[[gnu::noinline]] const Inst* global_scattered(Wave& w, const Inst* i, uint32_t only) {
  const Row* v = &w.v(i->src[0]);
  Row64 address;
  for (unsigned l = 0; l < kLanes; ++l)
    address.lane[l] =
        (v[0].lane[l] | uint64_t{v[1].lane[l]} << 32) + static_cast<uint64_t>(int64_t{i->imm});
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  if (only != ~0u) narrow_lanes(lanes, only);
  if constexpr (Observer::kMemory) {
    MemoryEvent event;
    event.address = address.lane;
    event.other_space = ~only;
    report<Observer, P>(w, i, event, lanes);
  }
  return global_lanes<P>(w, i, address, lanes.exec);
}

// Active lanes share their upper halves, inactive ones may differ: the event reports all lanes, the
// fast path handles the active ones.
template <class Observer, class P>
[[gnu::noinline]] const Inst* global_reported(Wave& w, const Inst* i, uint32_t hi, uint64_t imm,
                                              uint32_t other_space) {
  const Row* v = &w.v(i->src[0]);
  const Row offset = v[0];
  Row64 address;
  for (unsigned l = 0; l < kLanes; ++l)
    address.lane[l] = (v[0].lane[l] | uint64_t{v[1].lane[l]} << 32) + imm;
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  MemoryEvent event;
  event.address = address.lane;
  event.other_space = other_space;
  report<Observer, P>(w, i, event, lanes);
  return global_rows<P>(w, i, (uint64_t{hi} << 32) + imm, offset, lanes);
}

template <class Observer, class P>
GFXGRAPH_INLINE const Inst* global_observed(Wave& w, const Inst* i, uint32_t hi, uint64_t imm) {
  const Row* v = &w.v(i->src[0]);
  const uint64_t base = (uint64_t{hi} << 32) + imm;
  const Row offset = v[0];
  uintptr_t host = 0;
  if (needs_no_event<Observer, P>(w, i, 0, base, offset, &v[1], hi, host)) [[likely]] {
    Lanes lanes;
    all_lanes<Observer>(w, lanes);
    return global_rows_at<P>(w, i, base, offset, lanes, host);
  }
  uint32_t other = 0;
  if (i->format == Format::kFlat) {
    const uint32_t group = w.dispatch->group_aperture_hi;
    const uint32_t priv = w.dispatch->private_aperture_hi;
    for (unsigned l = 0; l < kLanes; ++l)
      other |= static_cast<uint32_t>(v[1].lane[l] == group || v[1].lane[l] == priv) << l;
  }
  return global_reported<Observer, P>(w, i, hi, imm, other);
}

template <class Observer, class P>
GFXGRAPH_INLINE const Inst* global_vaddr_lanes(Wave& w, const Inst* i) {
  const Row* v = &w.v(i->src[0]);
  const uint32_t hi = v[1].lane[first_lane(w.exec())];
  if (!active_equal(v[1], hi, w.exec_mask)) [[unlikely]]
    return global_scattered<Observer, P>(w, i, ~0u);
  if constexpr (Observer::kMemory) {
    return global_observed<Observer, P>(w, i, hi, static_cast<uint64_t>(int64_t{i->imm}));
  } else {
    const Row offset = v[0];
    Lanes lanes;
    all_lanes<Observer>(w, lanes);
    return global_rows<P>(w, i, (uint64_t{hi} << 32) + static_cast<uint64_t>(int64_t{i->imm}),
                          offset, lanes);
  }
}
template <class Observer, class P>
[[gnu::noinline]] const Inst* global_vaddr_lanes_apart(Wave& w, const Inst* i) {
  return global_vaddr_lanes<Observer, P>(w, i);
}

template <class Observer, class P>
const Inst* global_vaddr(Wave& w, const Inst* i) {
  const Row* v = &w.v(i->src[0]);
  if constexpr (P::kDwords == 1) {
    if (w.exec() == ~0u) {
      const uint32_t high = v[1].lane[0];
      uint32_t difference = 0;
      for (unsigned l = 0; l < kLanes; ++l) difference |= v[1].lane[l] ^ high;
      const uint64_t first = (v[0].lane[0] | uint64_t{high} << 32);
      if (difference == 0 && in_a_row(v[0]) &&
          whole_row<Observer, P>(w, i, first + static_cast<uint64_t>(int64_t{i->imm}))) [[likely]]
        return i->next();
    }
    // Apart, so that a row saves no registers.
    if constexpr (takes_rows<Observer>) return global_vaddr_lanes_apart<Observer, P>(w, i);
  }
  return global_vaddr_lanes<Observer, P>(w, i);
}

template <class Observer, class P>
const Inst* global_saddr(Wave& w, const Inst* i) {
  const uint64_t pointer = w.pair(i->src[2]);
  const Row offset = w.v(i->src[0]);
  return global_access<Observer, P>(w, i, pointer, pointer + static_cast<uint64_t>(int64_t{i->imm}),
                                    offset);
}

// global_load_dword_addtid: saddr + imm + 4 * lane.
template <class Observer, class P>
const Inst* global_addtid(Wave& w, const Inst* i) {
  const uint64_t pointer = i->src[2] == operand::kNone ? 0 : w.pair(i->src[2]);
  Row offset;
  for (unsigned l = 0; l < kLanes; ++l) offset.lane[l] = 4 * (w.first_lane + l);
  return global_access<Observer, P>(w, i, pointer, pointer + static_cast<uint64_t>(int64_t{i->imm}),
                                    offset);
}

// ---- FLAT ----

template <class Observer, class P>
GFXGRAPH_INLINE const Inst* flat_private(Wave& w, const Inst* i, const Row& offset, uint32_t only) {
  const uint64_t base = w.flat_scratch[0] | uint64_t{w.flat_scratch[1]} << 32;
  return scratch_rows<Observer, P>(w, i, base, offset, only);
}

// Lanes in several apertures: each aperture handles only its own lanes.
template <class Observer, class P>
[[gnu::noinline]] const Inst* flat_mixed(Wave& w, const Inst* i) {
  const Row* v = &w.v(i->src[0]);
  const uint32_t imm = static_cast<uint32_t>(i->imm) & 0x7ff;
  Row64 address;
  Row low;
  uint32_t lds = 0;
  uint32_t priv = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    address.lane[l] = (v[0].lane[l] | uint64_t{v[1].lane[l]} << 32) + imm;
    low.lane[l] = static_cast<uint32_t>(address.lane[l]);
    const auto high = static_cast<uint32_t>(address.lane[l] >> 32);
    lds |= static_cast<uint32_t>(high == w.dispatch->group_aperture_hi) << l;
    priv |= static_cast<uint32_t>(high == w.dispatch->private_aperture_hi) << l;
  }
  const uint32_t global = ~(lds | priv);
  const uint32_t exec = w.exec();
  if ((exec & lds) != 0) {
    Lanes lanes;
    all_lanes<Observer>(w, lanes);
    narrow_lanes(lanes, lds);
    if constexpr (Observer::kLds) {
      Row64 offsets;
      for (unsigned l = 0; l < kLanes; ++l) offsets.lane[l] = low.lane[l];
      MemoryEvent event;
      event.space = Space::kLds;
      event.address = offsets.lane;
      event.other_space = ~lds;
      report<Observer, P>(w, i, event, lanes);
    }
    lds_lanes<P>(w, i, low, lanes.exec);
  }
  if ((exec & priv) != 0 && flat_private<Observer, P>(w, i, low, priv) == nullptr) return nullptr;
  if ((exec & global) != 0 || exec == 0) {
    Lanes lanes;
    all_lanes<Observer>(w, lanes);
    narrow_lanes(lanes, global);
    if constexpr (Observer::kMemory) {
      MemoryEvent event;
      event.address = address.lane;
      event.other_space = ~global;
      report<Observer, P>(w, i, event, lanes);
    }
    return global_lanes<P>(w, i, address, lanes.exec);
  }
  return i->next();
}

template <class Observer, class P>
const Inst* flat(Wave& w, const Inst* i) {
  const Row* v = &w.v(i->src[0]);
  const uint32_t hi = v[1].lane[first_lane(w.exec())];
  const uint32_t imm = static_cast<uint32_t>(i->imm) & 0x7ff;
  const uint32_t group = w.dispatch->group_aperture_hi;
  const uint32_t priv = w.dispatch->private_aperture_hi;
  if (!active_equal(v[1], hi, w.exec_mask) || hi == group) [[unlikely]]
    return flat_mixed<Observer, P>(w, i);
  if constexpr (Observer::kMemory) {
    if (hi == priv) return flat_mixed<Observer, P>(w, i);
    return global_observed<Observer, P>(w, i, hi, imm);
  }
  if (hi == w.dispatch->private_aperture_hi) {
    Row offset;
    for (unsigned l = 0; l < kLanes; ++l) offset.lane[l] = v[0].lane[l] + imm;
    return flat_private<Observer, P>(w, i, offset, ~0u);
  }
  const Row offset = v[0];
  Lanes lanes;
  all_lanes<Observer>(w, lanes);
  return global_rows<P>(w, i, (uint64_t{hi} << 32) + imm, offset, lanes);
}

// SCRATCH encoding: private offset = vaddr or saddr, plus the immediate.
template <class Observer, class P>
const Inst* scratch(Wave& w, const Inst* i) {
  uint32_t scalar = static_cast<uint32_t>(i->imm);
  if (i->src[2] != operand::kNone) scalar += w.sgpr[i->src[2]];
  Row offset;
  for (unsigned l = 0; l < kLanes; ++l)
    offset.lane[l] = (i->src[0] == operand::kNone ? 0 : w.v(i->src[0]).lane[l]) + scalar;
  return flat_private<Observer, P>(w, i, offset, ~0u);
}

template <class Observer, class P>
Handler bind_segment(const Inst& inst) {
  switch (inst.format) {
    case Format::kFlat: return flat<Observer, P>;
    case Format::kGlobal:
      return inst.src[2] == operand::kNone ? global_vaddr<Observer, P> : global_saddr<Observer, P>;
    case Format::kScratch: return scratch<Observer, P>;
    default: return nullptr;
  }
}

// ---- SMEM ----

template <uint32_t kDwords>
GFXGRAPH_INLINE const Inst* scalar_result(Wave& w, const Inst* i, const uint32_t* value) {
  if (i->dst + kDwords <= operand::kVccLo + 2u) [[likely]] {
    std::memcpy(&w.sgpr[i->dst], value, kDwords * 4);
  } else {
    for (uint32_t d = 0; d < kDwords; ++d)
      if (i->dst != operand::kNull) w.write32(static_cast<uint16_t>(i->dst + d), value[d]);
  }
  return i->next();
}

template <class Observer, uint32_t kDwords>
GFXGRAPH_INLINE bool scalar_event(Wave& w, const Inst* i, uint64_t address, uint32_t bytes,
                                  bool in_range, bool mapped) {
  if constexpr (Observer::kMemory) {
    ScalarEvent event;
    event.address = address;
    event.bytes = bytes;
    event.in_range = in_range;
    const RegionCacheEntry& entry = cache_entry(w, i);
    event.mapped = mapped && entry.requested_size != 0;  // scratch is not a region
    const uint64_t into = address - entry.base;
    event.requested = mapped && into < entry.requested_size && bytes <= entry.requested_size - into;
    return static_cast<Observer*>(w.observer)
        ->scalar_load(*static_cast<typename Observer::WaveState*>(w.observer_state), w, *i, event);
  }
  return true;
}

// Whether a load of these bytes, within what the program requested, needs no event.
template <class Observer>
GFXGRAPH_INLINE bool is_ordinary(const Wave& w, const Inst* i, const RegionCacheEntry& entry,
                                 uint64_t address, uint32_t bytes) {
  if constexpr (!Observer::kMemory) {
    return true;
  } else if constexpr (Observer::kSuspectsOnly) {
    return entry.requested_size != 0 &&
           Observer::is_ordinary(
               *static_cast<const typename Observer::WaveState*>(w.observer_state), w, *i);
  } else if constexpr (requires { &Observer::scalar_span; }) {
    auto& state = *static_cast<typename Observer::WaveState*>(w.observer_state);
    return entry.requested_size != 0 &&
           static_cast<Observer*>(w.observer)->scalar_span(state, w, *i, address, bytes);
  } else {
    return false;
  }
}

// Not inlined, because that would make s_load() save more registers.
template <class Observer, uint32_t kDwords>
[[gnu::noinline]] const Inst* tell_scalars(Wave& w, const Inst* i) {
  auto& state = *static_cast<typename Observer::WaveState*>(w.observer_state);
  static_cast<Observer*>(w.observer)->template scalar_loaded<kDwords>(state, w, *i);
  return i->next();
}

// scalar_result() of S_LOAD.
template <class Observer, uint32_t kDwords>
GFXGRAPH_INLINE const Inst* s_load_result(Wave& w, const Inst* i, const uint32_t* value) {
  const Inst* const next = scalar_result<kDwords>(w, i, value);
  if constexpr (requires { &Observer::template scalar_loaded<kDwords>; }) {
    auto& state = *static_cast<const typename Observer::WaveState*>(w.observer_state);
    if (Observer::template wants_scalars<kDwords>(state, *i))
      return tell_scalars<Observer, kDwords>(w, i);
  }
  return next;
}

// Not inlined either.
template <class Observer, uint32_t kDwords>
[[gnu::noinline]] const Inst* s_load_looked_up(Wave& w, const Inst* i, uint64_t address) {
  uint32_t value[kDwords] = {};
  uintptr_t host = 0;
  const bool mapped = resolve<false>(w, i, address, Bounds{0, 0}, kDwords * 4, host);
  if (scalar_event<Observer, kDwords>(w, i, address, kDwords * 4, true, mapped)) {
    for (uint32_t d = 0; d < kDwords; ++d) {
      // A widened load may extend into the next region.
      if (!mapped && !resolve<false>(w, i, address + 4 * d, Bounds{0, 0}, 4, host)) {
        raise_access(w, i, FaultKind::kMemory, 0, address, kDwords * 4, false, nullptr);
        w.fault.lane = -1;
        return nullptr;
      }
      value[d] = load_host<uint32_t>(mapped ? host + 4 * d : host);
    }
  }
  return s_load_result<Observer, kDwords>(w, i, value);
}

template <class Observer, uint32_t kDwords>
const Inst* s_load(Wave& w, const Inst* i) {
  uint64_t address = w.pair(i->src[0]) + static_cast<uint64_t>(int64_t{i->imm});
  if (i->src[1] != operand::kNone) address += w.read32(i, 1);
  address &= ~uint64_t{3};
  const RegionCacheEntry& entry = cache_entry(w, i);
  const uint64_t into = address - entry.base;
  const uint64_t size = Observer::kMemory ? entry.requested_size : entry.size;
  if (into >= size || kDwords * 4 > size - into ||
      !is_ordinary<Observer>(w, i, entry, address, kDwords * 4)) [[unlikely]]
    return s_load_looked_up<Observer, kDwords>(w, i, address);
  const auto host = reinterpret_cast<uintptr_t>(entry.host) + into;
  uint32_t value[kDwords];
  for (uint32_t d = 0; d < kDwords; ++d) value[d] = load_host<uint32_t>(host + 4 * d);
  return s_load_result<Observer, kDwords>(w, i, value);
}

// Dwords past the end of the buffer read as 0.
template <class Observer, uint32_t kDwords>
const Inst* s_buffer_load(Wave& w, const Inst* i) {
  const uint32_t* srd = &w.sgpr[i->src[0]];
  const uint64_t base = (srd[0] | uint64_t{srd[1] & 0xffff} << 32) & ~uint64_t{3};
  const uint32_t stride = srd[1] >> 16 & 0x3fff;
  const uint64_t size = stride == 0 ? srd[2] : uint64_t{srd[2]} * stride;
  uint64_t offset = static_cast<uint32_t>(i->imm) & 0x1fffff;
  if (i->src[1] != operand::kNone) offset += w.read32(i, 1);
  offset &= ~uint64_t{3};
  uint32_t inside = 0;
  while (inside < kDwords && offset + 4 * (inside + 1) <= size) ++inside;
  uint32_t value[kDwords] = {};
  uintptr_t host = 0;
  const bool mapped =
      inside != 0 && resolve<false>(w, i, base + offset, Bounds{0, 0}, inside * 4, host);
  if (scalar_event<Observer, kDwords>(w, i, base + offset, inside * 4, inside == kDwords, mapped) &&
      inside != 0) {
    if (!mapped) {
      raise_access(w, i, FaultKind::kMemory, 0, base + offset, inside * 4, false, nullptr);
      w.fault.lane = -1;
      return nullptr;
    }
    for (uint32_t d = 0; d < inside; ++d) value[d] = load_host<uint32_t>(host + 4 * d);
  }
  return scalar_result<kDwords>(w, i, value);
}

inline const Inst* s_memtime(Wave& w, const Inst* i) {
  if (!clock_is_known(w, i)) return nullptr;
  w.write64(i->dst, read_clock(w));
  return i->next();
}
inline const Inst* s_memrealtime(Wave& w, const Inst* i) {
  if (!clock_is_known(w, i)) return nullptr;
  w.write64(i->dst, wall_clock(read_clock(w)));
  return i->next();
}
inline const Inst* s_nothing(Wave&, const Inst* i) { return i->next(); }

template <class Observer>
Handler bind_smem(const Inst& inst) {
  switch (inst.op) {
    case Op::s_load_dword: return s_load<Observer, 1>;
    case Op::s_load_dwordx2: return s_load<Observer, 2>;
    case Op::s_load_dwordx4: return s_load<Observer, 4>;
    case Op::s_load_dwordx8: return s_load<Observer, 8>;
    case Op::s_load_dwordx16: return s_load<Observer, 16>;
    case Op::s_buffer_load_dword: return s_buffer_load<Observer, 1>;
    case Op::s_buffer_load_dwordx2: return s_buffer_load<Observer, 2>;
    case Op::s_buffer_load_dwordx4: return s_buffer_load<Observer, 4>;
    case Op::s_buffer_load_dwordx8: return s_buffer_load<Observer, 8>;
    case Op::s_buffer_load_dwordx16: return s_buffer_load<Observer, 16>;
    case Op::s_memtime: return s_memtime;
    case Op::s_memrealtime: return s_memrealtime;
    case Op::s_dcache_inv:
    case Op::s_gl1_inv: return s_nothing;
    default: return nullptr;
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
