// Rules of IEEE mode that several float families share. Source: RDNA2 ISA guide, V_MIN_F32, V_MAX_F32, V_MED3_F32.
#pragma once

#include "emulator/isa/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// A signalling NaN wins and is quieted; else a NaN loses to a number; -0 is less than +0. `v + v` of a NaN is
// the NaN, quieted.
GFXGRAPH_INLINE bool signalling(float v) { return v != v && (bits_of(v) & 0x00400000u) == 0; }
GFXGRAPH_INLINE bool signalling(double v) { return v != v && (bits_of(v) & 0x0008000000000000u) == 0; }
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

// Integer order of the bits is the numeric order with -0 < +0.
template <class V>
GFXGRAPH_INLINE V min_ieee(V a, V b) {
  V r = order(a) < order(b) ? a : b;
  r = b != b ? a : r;
  r = a != a ? b : r;
  r = signalling(b) ? quiet(b) : r;
  r = signalling(a) ? quiet(a) : r;
  return r;
}
template <class V>
GFXGRAPH_INLINE V max_ieee(V a, V b) {
  V r = order(a) > order(b) ? a : b;
  r = b != b ? a : r;
  r = a != a ? b : r;
  r = signalling(b) ? quiet(b) : r;
  r = signalling(a) ? quiet(a) : r;
  return r;
}
template <class V>
GFXGRAPH_INLINE V med3_ieee(V a, V b, V c) {
  if (a != a || b != b || c != c) return min_ieee(min_ieee(a, b), c);
  const V m = max_ieee(max_ieee(a, b), c);
  if (m == a) return max_ieee(b, c);
  if (m == b) return max_ieee(a, c);
  return max_ieee(a, b);
}

}  // inline namespace
}  // namespace gfxgraph::emulator
