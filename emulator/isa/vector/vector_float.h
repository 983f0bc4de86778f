// Rules of IEEE mode that several float families share. Source: RDNA2 ISA guide, V_MIN_F32,
// V_MAX_F32, V_MED3_F32.
#pragma once

#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// A signalling NaN wins and is quieted; else a NaN loses to a number; -0 is less than +0. `v + v`
// of a NaN is the NaN, quieted.
GFXGRAPH_INLINE float quiet(float v) { return as<float>(bits_of(v) | (v != v ? 0x00400000u : 0u)); }
GFXGRAPH_INLINE double quiet(double v) {
  return as<double>(bits_of(v) | (v != v ? 0x0008000000000000u : uint64_t{0}));
}

GFXGRAPH_INLINE int32_t order(float v) {
  const int32_t s = as<int32_t>(v);
  return s ^ (s >> 31 & 0x7fffffff);
}
GFXGRAPH_INLINE int64_t order(double v) {
  const int64_t s = as<int64_t>(v);
  return s ^ (s >> 63 & 0x7fffffffffffffff);
}

// Integer order of the bits is the numeric order with -0 < +0. All on integers and without
// branches, so that loops over lanes vectorize.
template <bool kMax, class V, class Signed>
GFXGRAPH_INLINE V extreme_ieee(V a, V b, Signed infinity, Signed quiet_bit) {
  const Signed ia = as<Signed>(a);
  const Signed ib = as<Signed>(b);
  const Signed most = static_cast<Signed>(~(Signed{1} << (8 * sizeof(Signed) - 1)));
  const Signed abs_a = ia & most;
  const Signed abs_b = ib & most;
  const bool first = kMax ? order(a) > order(b) : order(a) < order(b);
  Signed r = first ? ia : ib;
  r = abs_b > infinity ? ia : r;
  r = abs_a > infinity ? ib : r;
  // Signalling: between infinity and the first quiet NaN.
  const bool signalling_b = (abs_b > infinity) & (abs_b < (infinity | quiet_bit));
  const bool signalling_a = (abs_a > infinity) & (abs_a < (infinity | quiet_bit));
  r = signalling_b ? (ib | quiet_bit) : r;
  r = signalling_a ? (ia | quiet_bit) : r;
  return as<V>(r);
}
GFXGRAPH_INLINE float min_ieee(float a, float b) {
  return extreme_ieee<false>(a, b, int32_t{0x7f800000}, int32_t{0x00400000});
}
GFXGRAPH_INLINE float max_ieee(float a, float b) {
  return extreme_ieee<true>(a, b, int32_t{0x7f800000}, int32_t{0x00400000});
}
GFXGRAPH_INLINE double min_ieee(double a, double b) {
  return extreme_ieee<false>(a, b, int64_t{0x7ff0000000000000}, int64_t{0x0008000000000000});
}
GFXGRAPH_INLINE double max_ieee(double a, double b) {
  return extreme_ieee<true>(a, b, int64_t{0x7ff0000000000000}, int64_t{0x0008000000000000});
}
template <class V>
GFXGRAPH_INLINE V med3_ieee(V a, V b, V c) {
  if (a != a || b != b || c != c) return min_ieee(min_ieee(a, b), c);
  const V m = max_ieee(max_ieee(a, b), c);
  if (m == a) return max_ieee(b, c);
  if (m == b) return max_ieee(a, c);
  return max_ieee(a, b);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
