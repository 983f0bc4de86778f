// DS instructions. Source: RDNA2 ISA guide, "LDS and GDS Instructions". GDS forms are unsupported;
// the only supported GWS instructions are init and barrier.
#pragma once

#include "emulator/isa/host_control.h"
#include "emulator/isa/memory/atomics.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

template <class Observer, class P>
const Inst* ds(Wave& w, const Inst* i) {
  return lds_rows<Observer, P>(w, i, static_cast<uint32_t>(i->imm) & 0xffff, w.v(i->src[0]));
}

// ---- two addresses: offset0 and offset1, in elements (st64: in 64 elements) ----

template <typename T, bool kStride64>
GFXGRAPH_INLINE uint32_t part_offset(const Inst* i, unsigned part) {
  return (static_cast<uint32_t>(i->imm) >> (8 * part) & 0xff) * static_cast<uint32_t>(sizeof(T)) *
         (kStride64 ? 64 : 1);
}

// Element `kPart` of a two-element instruction, as a separate policy.
template <typename T, unsigned kPart>
struct Read2Part {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = kBytes / 4;
  static constexpr bool kWrite = false;
  static constexpr AccessKind kKind = AccessKind::kLoad;
  using Element = Load<kDwords == 1 ? Data::kB32 : Data::kB64>;
  GFXGRAPH_INLINE static Row* dst(Wave& w, const Inst* i) { return &w.v(i->dst) + kPart * kDwords; }
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row& mask) {
    Element::into(dst(w, i), p, offset, exec, mask);
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    set_lane<T>(dst(w, i), l, load_host<T>(p));
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    set_lane<T>(dst(w, i), l, T{0});
  }
};
template <typename T, unsigned kPart>
struct Write2Part {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = kBytes / 4;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kStore;
  using Element = Store<kDwords == 1 ? Data::kB32 : Data::kB64>;
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    Element::from(&w.v(i->src[1 + kPart]), p, offset, exec);
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    Element::put(&w.v(i->src[1 + kPart]), l, p);
  }
  GFXGRAPH_INLINE static void dropped(Wave&, const Inst*, unsigned) {}
};
template <typename T, unsigned kPart>
struct Exchange2Part {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = 0;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kAtomic;
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    lanes_in_order<Exchange2Part>(w, i, p, offset, exec);
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    const T data = lane_value<T>(&w.v(i->src[1 + kPart]), l);
    const T old = load_host<T>(p);
    store_host<T>(p, data);
    set_lane<T>(&w.v(i->dst) + kPart * sizeof(T) / 4, l, old);
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    set_lane<T>(&w.v(i->dst) + kPart * sizeof(T) / 4, l, T{0});
  }
};

template <class Observer, template <typename, unsigned> class Part, typename T, bool kStride64>
const Inst* ds2(Wave& w, const Inst* i) {
  const Row offset = w.v(i->src[0]);
  lds_rows<Observer, Part<T, 0>>(w, i, part_offset<T, kStride64>(i, 0), offset);
  return lds_rows<Observer, Part<T, 1>>(w, i, part_offset<T, kStride64>(i, 1), offset);
}
// Reads both data operands before it writes the first element back to registers.
template <class Observer, typename T, bool kStride64>
const Inst* ds_exchange2(Wave& w, const Inst* i) {
  const uint16_t dst = i->dst;
  const uint16_t second = i->src[2];
  const auto width = static_cast<uint16_t>(sizeof(T) / 4);
  const bool overlaps = second < dst + width && dst < second + width;
  if (overlaps) return w.unsupported(i, "the first result overwrites the second operand");
  return ds2<Observer, Exchange2Part, T, kStride64>(w, i);
}

// ---- lane exchange: no memory ----

inline const Inst* ds_bpermute(Wave& w, const Inst* i) {
  const Row& address = w.v(i->src[0]);
  const Row& data = w.v(i->src[1]);
  const auto imm = static_cast<uint32_t>(i->imm) & 0xffff;
  Row from;  // 0 where the source lane is inactive
  for (unsigned l = 0; l < kLanes; ++l) from.lane[l] = data.lane[l] & w.exec_mask.lane[l];
  Row result;
  for (unsigned l = 0; l < kLanes; ++l) result.lane[l] = (address.lane[l] + imm) >> 2 & 31;
  take_lanes(result, from);
  blend_into(w.v(i->dst), result, w.exec_mask);
  return i->next();
}
inline const Inst* ds_permute(Wave& w, const Inst* i) {
  const Row& address = w.v(i->src[0]);
  const Row& data = w.v(i->src[1]);
  const auto imm = static_cast<uint32_t>(i->imm) & 0xffff;
  Row result = {};
  for (uint32_t m = w.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    result.lane[(address.lane[l] + imm) >> 2 & 31] = data.lane[l];
  }
  blend_into(w.v(i->dst), result, w.exec_mask);
  return i->next();
}
// The lane that lane l reads: FFT order, rotation, quad permutation, or and/or/xor masks.
inline unsigned swizzle_lane(uint32_t mode, unsigned l) {
  const uint32_t mask = mode & 31;
  if (mode >= 0xe000) {
    unsigned reversed = 0;
    for (unsigned b = 0; b < 5; ++b) reversed |= (l >> b & 1) << (4 - b);
    return reversed >> std::popcount(mask) | (l & mask);
  }
  if (mode >= 0xc000) {
    const uint32_t by = mode >> 5 & 31;
    return (l & mask) | ((l + ((mode & 0x400) != 0 ? 32 - by : by)) & ~mask & 31);
  }
  if ((mode & 0x8000) != 0) return (l & ~3u) | (mode >> (2 * (l & 3)) & 3);
  return ((l & mask) | (mode >> 5 & 31)) ^ (mode >> 10 & 31);
}
inline const Inst* ds_swizzle(Wave& w, const Inst* i) {
  const Row& data = w.v(i->src[0]);
  const auto mode = static_cast<uint32_t>(i->imm) & 0xffff;
  Row result;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned from = swizzle_lane(mode, l);
    result.lane[l] = data.lane[from] & w.exec_mask.lane[from];
  }
  blend_into(w.v(i->dst), result, w.exec_mask);
  return i->next();
}
// Adds the number of active lanes to a counter at M0's upper half + offset, or subtracts it.
template <bool kAppend>
const Inst* ds_count(Wave& w, const Inst* i) {
  const uint64_t at =
      uint64_t{w.sgpr[operand::kM0] >> 16} + (static_cast<uint32_t>(i->imm) & 0xffff);
  const auto count = static_cast<uint32_t>(std::popcount(w.exec()));
  uint32_t old = 0;
  if (at + 4 <= w.group->lds_bytes) {
    const uintptr_t p = reinterpret_cast<uintptr_t>(w.group->lds) + at;
    old = load_host<uint32_t>(p);
    store_host<uint32_t>(p, kAppend ? old + count : old - count);
  }
  Row result;
  for (unsigned l = 0; l < kLanes; ++l) result.lane[l] = old;
  blend_into(w.v(i->dst), result, w.exec_mask);
  return i->next();
}
// offset + M0[15:0] + 4 * lane.
template <class Observer, class P>
const Inst* ds_addtid(Wave& w, const Inst* i) {
  Row offset;
  for (unsigned l = 0; l < kLanes; ++l)
    offset.lane[l] = (w.sgpr[operand::kM0] & 0xffff) + 4 * (w.first_lane + l);
  return lds_rows<Observer, P>(w, i, static_cast<uint32_t>(i->imm) & 0xffff, offset);
}
inline const Inst* ds_nothing(Wave&, const Inst* i) { return i->next(); }

template <class O, typename T>
Handler bind_ds_any(Inst& inst, AtomicFunction<T> function) {
  inst.k[0] = reinterpret_cast<uint64_t>(function);
  return ds<O, AnyAtomic<T, true>>;
}
template <class O, class Op, typename T>
Handler ds_atomic(Inst& inst) {
  return bind_ds_any<O, T>(inst, run_lds_atomic<Op, T>);
}
template <class O, typename T, bool kFloat>
Handler ds_compare(Inst& inst) {
  return bind_ds_any<O, T>(inst, run_lds_compare<T, kFloat>);
}
template <class O, typename T, Narrow kKind>
Handler ds_narrow_load(Inst& inst) {
  inst.k[0] = static_cast<uint64_t>(kKind);
  return ds<O, NarrowLoad<T>>;
}
template <class O, typename T, int kShift>
Handler ds_narrow_store(Inst& inst) {
  inst.k[0] = kShift;
  return ds<O, NarrowStore<T>>;
}

// LDS additions flush denormals as MODE sets for binary32; they round to nearest in every mode.
template <class O>
const Inst* ds_add_f32_in_mode(Wave& w, const Inst* i) {
  const HostControl control(kHostDefaultControl | ((w.mode >> 4 & 1) != 0 ? 0 : kHostFlushInputs) |
                            ((w.mode >> 5 & 1) != 0 ? 0 : kHostFlushResults));
  return ds<O, AnyAtomic<uint32_t, true>>(w, i);
}
template <class O>
Handler bind_ds_add_f32(Inst& inst) {
  const Handler usual = ds_atomic<O, OpFadd, uint32_t>(inst);
  return (inst.flags & Inst::kAnyMode) != 0 ? ds_add_f32_in_mode<O> : usual;
}

template <class O>
Handler bind_ds_atomic(Inst& inst) {
  using U32 = uint32_t;
  using U64 = uint64_t;
  switch (inst.op) {
#define GFXGRAPH_DS_ATOMIC(name, type, OpT, T) \
  case Op::ds_##name##_##type:                 \
  case Op::ds_##name##_rtn_##type: return ds_atomic<O, OpT, T>(inst);
    // Used by histograms: no function call per lane.
    case Op::ds_add_u32: return ds<O, Atomic<OpAdd, U32, false, false>>;
    case Op::ds_add_rtn_u32:
      return ds<O, Atomic<OpAdd, U32, true, false>>;
      GFXGRAPH_DS_ATOMIC(sub, u32, OpSub, U32)
      GFXGRAPH_DS_ATOMIC(rsub, u32, OpRsub, U32)
      GFXGRAPH_DS_ATOMIC(inc, u32, OpInc, U32)
      GFXGRAPH_DS_ATOMIC(dec, u32, OpDec, U32)
      GFXGRAPH_DS_ATOMIC(min, i32, OpSmin, U32)
      GFXGRAPH_DS_ATOMIC(max, i32, OpSmax, U32)
      GFXGRAPH_DS_ATOMIC(min, u32, OpUmin, U32)
      GFXGRAPH_DS_ATOMIC(max, u32, OpUmax, U32)
      GFXGRAPH_DS_ATOMIC(and, b32, OpAnd, U32)
      GFXGRAPH_DS_ATOMIC(or, b32, OpOr, U32)
      GFXGRAPH_DS_ATOMIC(xor, b32, OpXor, U32)
      GFXGRAPH_DS_ATOMIC(min, f32, OpFmin, U32)
      GFXGRAPH_DS_ATOMIC(max, f32, OpFmax, U32)
      GFXGRAPH_DS_ATOMIC(add, u64, OpAdd, U64)
      GFXGRAPH_DS_ATOMIC(sub, u64, OpSub, U64)
      GFXGRAPH_DS_ATOMIC(rsub, u64, OpRsub, U64)
      GFXGRAPH_DS_ATOMIC(inc, u64, OpInc, U64)
      GFXGRAPH_DS_ATOMIC(dec, u64, OpDec, U64)
      GFXGRAPH_DS_ATOMIC(min, i64, OpSmin, U64)
      GFXGRAPH_DS_ATOMIC(max, i64, OpSmax, U64)
      GFXGRAPH_DS_ATOMIC(min, u64, OpUmin, U64)
      GFXGRAPH_DS_ATOMIC(max, u64, OpUmax, U64)
      GFXGRAPH_DS_ATOMIC(and, b64, OpAnd, U64)
      GFXGRAPH_DS_ATOMIC(or, b64, OpOr, U64)
      GFXGRAPH_DS_ATOMIC(xor, b64, OpXor, U64)
      GFXGRAPH_DS_ATOMIC(min, f64, OpFmin, U64)
      GFXGRAPH_DS_ATOMIC(max, f64, OpFmax, U64)
#undef GFXGRAPH_DS_ATOMIC
    case Op::ds_add_f32:
    case Op::ds_add_rtn_f32: return bind_ds_add_f32<O>(inst);
    case Op::ds_wrxchg_rtn_b32: return ds_atomic<O, OpSwap, U32>(inst);
    case Op::ds_wrxchg_rtn_b64: return ds_atomic<O, OpSwap, U64>(inst);
    case Op::ds_wrxchg2_rtn_b32: return ds_exchange2<O, U32, false>;
    case Op::ds_wrxchg2st64_rtn_b32: return ds_exchange2<O, U32, true>;
    case Op::ds_wrxchg2_rtn_b64: return ds_exchange2<O, U64, false>;
    case Op::ds_wrxchg2st64_rtn_b64: return ds_exchange2<O, U64, true>;
    case Op::ds_cmpst_b32:
    case Op::ds_cmpst_rtn_b32: return ds_compare<O, U32, false>(inst);
    case Op::ds_cmpst_f32:
    case Op::ds_cmpst_rtn_f32: return ds_compare<O, U32, true>(inst);
    case Op::ds_cmpst_b64:
    case Op::ds_cmpst_rtn_b64: return ds_compare<O, U64, false>(inst);
    case Op::ds_cmpst_f64:
    case Op::ds_cmpst_rtn_f64: return ds_compare<O, U64, true>(inst);
    case Op::ds_mskor_b32:
    case Op::ds_mskor_rtn_b32: return bind_ds_any<O, U32>(inst, run_lds_mask_or<U32>);
    case Op::ds_mskor_b64:
    case Op::ds_mskor_rtn_b64: return bind_ds_any<O, U64>(inst, run_lds_mask_or<U64>);
    case Op::ds_wrap_rtn_b32: return bind_ds_any<O, U32>(inst, run_lds_wrap);
    default: return nullptr;
  }
}

template <class O>
Handler bind_ds(Inst& inst) {
  if (is_gws(inst.op)) return (inst.mods & mmod::kGds) != 0 ? run_gws : nullptr;
  if ((inst.mods & mmod::kGds) != 0) return nullptr;
  switch (inst.op) {
    case Op::ds_read_u8: return ds_narrow_load<O, uint8_t, Narrow::kZeroExtend>(inst);
    case Op::ds_read_i8: return ds_narrow_load<O, uint8_t, Narrow::kSignExtend>(inst);
    case Op::ds_read_u16: return ds_narrow_load<O, uint16_t, Narrow::kZeroExtend>(inst);
    case Op::ds_read_i16: return ds_narrow_load<O, uint16_t, Narrow::kSignExtend>(inst);
    case Op::ds_read_u8_d16: return ds_narrow_load<O, uint8_t, Narrow::kLow>(inst);
    case Op::ds_read_u8_d16_hi: return ds_narrow_load<O, uint8_t, Narrow::kHigh>(inst);
    case Op::ds_read_i8_d16: return ds_narrow_load<O, uint8_t, Narrow::kLowSigned>(inst);
    case Op::ds_read_i8_d16_hi: return ds_narrow_load<O, uint8_t, Narrow::kHighSigned>(inst);
    case Op::ds_read_u16_d16: return ds_narrow_load<O, uint16_t, Narrow::kLow>(inst);
    case Op::ds_read_u16_d16_hi: return ds_narrow_load<O, uint16_t, Narrow::kHigh>(inst);
    case Op::ds_read_b32: return ds<O, Load<Data::kB32>>;
    case Op::ds_read_b64: return ds<O, Load<Data::kB64>>;
    case Op::ds_read_b96: return ds<O, Load<Data::kB96>>;
    case Op::ds_read_b128: return ds<O, Load<Data::kB128>>;
    case Op::ds_write_b8: return ds_narrow_store<O, uint8_t, 0>(inst);
    case Op::ds_write_b8_d16_hi: return ds_narrow_store<O, uint8_t, 16>(inst);
    case Op::ds_write_b16: return ds_narrow_store<O, uint16_t, 0>(inst);
    case Op::ds_write_b16_d16_hi: return ds_narrow_store<O, uint16_t, 16>(inst);
    case Op::ds_write_b32: return ds<O, Store<Data::kB32>>;
    case Op::ds_write_b64: return ds<O, Store<Data::kB64>>;
    case Op::ds_write_b96: return ds<O, Store<Data::kB96>>;
    case Op::ds_write_b128: return ds<O, Store<Data::kB128>>;
    case Op::ds_read2_b32: return ds2<O, Read2Part, uint32_t, false>;
    case Op::ds_read2st64_b32: return ds2<O, Read2Part, uint32_t, true>;
    case Op::ds_read2_b64: return ds2<O, Read2Part, uint64_t, false>;
    case Op::ds_read2st64_b64: return ds2<O, Read2Part, uint64_t, true>;
    case Op::ds_write2_b32: return ds2<O, Write2Part, uint32_t, false>;
    case Op::ds_write2st64_b32: return ds2<O, Write2Part, uint32_t, true>;
    case Op::ds_write2_b64: return ds2<O, Write2Part, uint64_t, false>;
    case Op::ds_write2st64_b64: return ds2<O, Write2Part, uint64_t, true>;
    case Op::ds_bpermute_b32: return ds_bpermute;
    case Op::ds_permute_b32: return ds_permute;
    case Op::ds_swizzle_b32: return ds_swizzle;
    case Op::ds_append: return ds_count<true>;
    case Op::ds_consume: return ds_count<false>;
    case Op::ds_read_addtid_b32: return ds_addtid<O, Load<Data::kB32>>;
    case Op::ds_write_addtid_b32: return ds_addtid<O, Store<Data::kB32>>;
    case Op::ds_nop: return ds_nothing;
    default: return bind_ds_atomic<O>(inst);
  }
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
