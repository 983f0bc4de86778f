// Atomic operations as access policies. Global ones are host atomics, because other threads run
// other workgroups. A workgroup runs on one thread at a time, so LDS atomics are plain. Lanes
// execute in order.
// Source: RDNA2 ISA guide, "Data Share and Vector Memory Instructions" (inc and dec wrap,
// fmin/fmax, cmpswap).
#pragma once

#include "emulator/isa/memory/access.inl"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

template <typename T>
using Signed = std::make_signed_t<T>;

// ---- operations: new value from the old and the data ----

struct OpSwap {
  template <typename T>
  static T run(T, T data) {
    return data;
  }
};
struct OpAdd {
  template <typename T>
  static T run(T old, T data) {
    return old + data;
  }
};
struct OpSub {
  template <typename T>
  static T run(T old, T data) {
    return old - data;
  }
};
struct OpRsub {
  template <typename T>
  static T run(T old, T data) {
    return data - old;
  }
};
struct OpSmin {
  template <typename T>
  static T run(T old, T data) {
    return static_cast<Signed<T>>(data) < static_cast<Signed<T>>(old) ? data : old;
  }
};
struct OpUmin {
  template <typename T>
  static T run(T old, T data) {
    return data < old ? data : old;
  }
};
struct OpSmax {
  template <typename T>
  static T run(T old, T data) {
    return static_cast<Signed<T>>(data) > static_cast<Signed<T>>(old) ? data : old;
  }
};
struct OpUmax {
  template <typename T>
  static T run(T old, T data) {
    return data > old ? data : old;
  }
};
struct OpAnd {
  template <typename T>
  static T run(T old, T data) {
    return old & data;
  }
};
struct OpOr {
  template <typename T>
  static T run(T old, T data) {
    return old | data;
  }
};
struct OpXor {
  template <typename T>
  static T run(T old, T data) {
    return old ^ data;
  }
};
struct OpInc {
  template <typename T>
  static T run(T old, T data) {
    return old >= data ? 0 : old + 1;
  }
};
struct OpDec {
  template <typename T>
  static T run(T old, T data) {
    return old == 0 || old > data ? data : old - 1;
  }
};
struct OpCsub {
  template <typename T>
  static T run(T old, T data) {
    return old < data ? 0 : old - data;
  }
};

template <typename T>
struct FloatOf;
template <>
struct FloatOf<uint32_t> {
  using type = float;
};
template <>
struct FloatOf<uint64_t> {
  using type = double;
};
template <typename T>
typename FloatOf<T>::type as_float(T bits) {
  return std::bit_cast<typename FloatOf<T>::type>(bits);
}
template <typename T>
bool is_nan(T bits) {
  const auto f = as_float(bits);
  return f != f;
}
template <typename T>
T quiet(T bits) {
  return bits | (T{1} << (sizeof(T) == 4 ? 22 : 51));
}
struct OpFadd {
  template <typename T>
  static T run(T old, T data) {
    if (is_nan(old)) return quiet(old);
    if (is_nan(data)) return quiet(data);
    const T sum = std::bit_cast<T>(as_float(old) + as_float(data));
    return sum;
  }
};
// A number wins over a NaN.
struct OpFmin {
  template <typename T>
  static T run(T old, T data) {
    if (is_nan(old)) return is_nan(data) ? quiet(old) : data;
    if (is_nan(data)) return old;
    if (as_float(old) == as_float(data)) return old | data;  // -0 is the smaller zero
    return as_float(data) < as_float(old) ? data : old;
  }
};
struct OpFmax {
  template <typename T>
  static T run(T old, T data) {
    if (is_nan(old)) return is_nan(data) ? quiet(old) : data;
    if (is_nan(data)) return old;
    if (as_float(old) == as_float(data)) return old & data;
    return as_float(data) > as_float(old) ? data : old;
  }
};

template <class Op, typename T>
GFXGRAPH_INLINE T host_atomic(T* p, T data) {
  if constexpr (std::is_same_v<Op, OpAdd>)
    return __atomic_fetch_add(p, data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, OpSub>)
    return __atomic_fetch_sub(p, data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, OpAnd>)
    return __atomic_fetch_and(p, data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, OpOr>)
    return __atomic_fetch_or(p, data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, OpXor>)
    return __atomic_fetch_xor(p, data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, OpSwap>)
    return __atomic_exchange_n(p, data, __ATOMIC_SEQ_CST);
  else {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(p, &old, Op::run(old, data), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
    return old;
  }
}

// ---- register access ----

template <typename T>
GFXGRAPH_INLINE T lane_value(const Row* row, unsigned l) {
  if constexpr (sizeof(T) == 8)
    return row[0].lane[l] | uint64_t{row[1].lane[l]} << 32;
  else
    return row[0].lane[l];
}
template <typename T>
GFXGRAPH_INLINE void set_lane(Row* row, unsigned l, T value) {
  row[0].lane[l] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8) row[1].lane[l] = static_cast<uint32_t>(value >> 32);
}

template <class P>
GFXGRAPH_INLINE void lanes_in_order(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                    uint32_t exec) {
  if (exec == ~0u) {
    for (unsigned l = 0; l < kLanes; ++l) P::lane(w, i, l, p + offset.lane[l]);
    return;
  }
  for (uint32_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    P::lane(w, i, l, p + offset.lane[l]);
  }
}

// ---- policies ----

template <class Op, typename T, bool kReturns, bool kHost>
struct Atomic {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = 0;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kAtomic;
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    if constexpr (!kHost && !kReturns && sizeof(T) == 4) {
      // Copies, because the compiler must assume that a store through p changes registers and the
      // instruction.
      const Row data = w.v(i->src[1]);
      const Row at = offset;
      if (exec == ~0u) {
        for (unsigned l = 0; l < kLanes; ++l)
          store_host<T>(p + at.lane[l], Op::run(load_host<T>(p + at.lane[l]), data.lane[l]));
      } else {
        for (uint32_t m = exec; m != 0; m &= m - 1) {
          const auto l = static_cast<unsigned>(std::countr_zero(m));
          store_host<T>(p + at.lane[l], Op::run(load_host<T>(p + at.lane[l]), data.lane[l]));
        }
      }
    } else {
      lanes_in_order<Atomic>(w, i, p, offset, exec);
    }
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    const T data = lane_value<T>(&w.v(i->src[1]), l);
    T old;
    if constexpr (kHost) {
      old = host_atomic<Op, T>(reinterpret_cast<T*>(p), data);
    } else {
      old = load_host<T>(p);
      store_host<T>(p, Op::run(old, data));
    }
    if constexpr (kReturns) set_lane<T>(&w.v(i->dst), l, old);
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    if constexpr (kReturns) set_lane<T>(&w.v(i->dst), l, T{0});
  }
};

// Any atomic of one width, with its operation as a function in Inst::k[0]: one instantiation for
// all.
// a: the data register (DS: data0); b: the one after it (DS: data1).
template <typename T>
using AtomicFunction = T (*)(T* p, T a, T b);

template <class Op, typename T>
T run_host_atomic(T* p, T a, T) {
  return host_atomic<Op, T>(p, a);
}
template <class Op, typename T>
T run_lds_atomic(T* p, T a, T) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const T old = load_host<T>(at);
  store_host<T>(at, Op::run(old, a));
  return old;
}
template <typename T, bool kFloat>
bool equal_bits_or_float(T a, T b) {
  if constexpr (kFloat) return as_float(a) == as_float(b);
  return a == b;
}
// FLAT and MUBUF: the compare value follows the new value; DS: it comes first.
template <typename T, bool kFloat>
T run_host_compare(T* p, T swap, T compare) {
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (equal_bits_or_float<T, kFloat>(old, compare) &&
         !__atomic_compare_exchange_n(p, &old, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}
template <typename T, bool kFloat>
T run_lds_compare(T* p, T compare, T swap) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const T old = load_host<T>(at);
  if (equal_bits_or_float<T, kFloat>(old, compare)) store_host<T>(at, swap);
  return old;
}
// DS only: (old & ~a) | b; and: old >= a ? old - a : old + b.
template <typename T>
T run_lds_mask_or(T* p, T a, T b) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const T old = load_host<T>(at);
  store_host<T>(at, (old & ~a) | b);
  return old;
}
inline uint32_t run_lds_wrap(uint32_t* p, uint32_t a, uint32_t b) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const auto old = load_host<uint32_t>(at);
  store_host<uint32_t>(at, old >= a ? old - a : old + b);
  return old;
}

template <typename T, bool kDs>
struct AnyAtomic {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr uint32_t kDwords = 0;
  static constexpr bool kWrite = true;
  static constexpr AccessKind kKind = AccessKind::kAtomic;
  GFXGRAPH_INLINE static void rows(Wave& w, const Inst* i, uintptr_t p, const Row& offset,
                                   uint32_t exec, const Row&) {
    for (uint32_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      lane(w, i, l, p + offset.lane[l]);
    }
  }
  GFXGRAPH_INLINE static void lane(Wave& w, const Inst* i, unsigned l, uintptr_t p) {
    const Row* data = &w.v(i->src[1]);
    const T a = lane_value<T>(data, l);
    const bool second = kDs && i->src[2] != operand::kNone;
    const T b = lane_value<T>(second ? &w.v(i->src[2]) : data + sizeof(T) / 4, l);
    const T old = reinterpret_cast<AtomicFunction<T>>(i->k[0])(reinterpret_cast<T*>(p), a, b);
    if (i->dst != operand::kNone) set_lane<T>(&w.v(i->dst), l, old);
  }
  GFXGRAPH_INLINE static void dropped(Wave& w, const Inst* i, unsigned l) {
    if (i->dst != operand::kNone) set_lane<T>(&w.v(i->dst), l, T{0});
  }
};

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
