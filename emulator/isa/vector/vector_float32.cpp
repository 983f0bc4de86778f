// Binary32 arithmetic. IEEE and DX10_CLAMP on, denormals on, round to nearest even; the host's own
// operations quiet NaNs. If several inputs are NaN, the result has the payload of one of them.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, I = T::kI32;

// DX9 rules: zero times anything is +0.
GFXGRAPH_INLINE float mul_legacy(float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; }
GFXGRAPH_INLINE float fma_legacy(float a, float b, float c) {
  return a == 0.0f || b == 0.0f ? 0.0f + c : __builtin_fmaf(a, b, c);
}

GFXGRAPH_INLINE float fract(float a) {
  const float r = a - __builtin_floorf(a);
  return r > 0x1.fffffep-1f ? 0x1.fffffep-1f : r;
}

GFXGRAPH_INLINE uint32_t frexp_mantissa(float a) {
  const uint32_t u = bits_of(a);
  const uint32_t e = u >> 23 & 0xff;
  const uint32_t m = u & 0x7fffffu;
  if (e == 255) return m != 0 ? u | 0x400000u : u;
  if (e != 0) return (u & 0x807fffffu) | 126u << 23;
  if (m == 0) return u;
  const uint32_t shift = static_cast<uint32_t>(__builtin_clz(m)) - 8;
  return (u & 0x80000000u) | 126u << 23 | (m << shift & 0x7fffffu);
}

GFXGRAPH_INLINE int32_t frexp_exponent(float a) {
  const uint32_t u = bits_of(a) & 0x7fffffffu;
  const uint32_t e = u >> 23;
  if (e == 255 || u == 0) return 0;
  if (e != 0) return static_cast<int32_t>(e) - 126;
  return -117 - static_cast<int32_t>(__builtin_clz(u));
}

GFXGRAPH_INLINE float ldexp32(float a, int32_t n) {
  // Every intermediate is exact in binary64, so there is only one rounding.
  const int32_t e = n < -300 ? -300 : n > 300 ? 300 : n;
  return static_cast<float>(static_cast<double>(a) *
                            as<double>(static_cast<uint64_t>(1023 + e) << 52));
}

GFXGRAPH_INLINE bool is_nan(float v) { return v != v; }

// ---- cube maps (ISA guide: V_CUBE*) ----
GFXGRAPH_INLINE float magnitude(float v) { return as<float>(bits_of(v) & 0x7fffffffu); }
GFXGRAPH_INLINE float cube_id(float x, float y, float z) {
  if (magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y)) return z < 0.0f ? 5.0f : 4.0f;
  if (magnitude(y) >= magnitude(x)) return y < 0.0f ? 3.0f : 2.0f;
  return x < 0.0f ? 1.0f : 0.0f;
}
GFXGRAPH_INLINE float cube_sc(float x, float y, float z) {
  if (magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y)) return z < 0.0f ? -x : x;
  if (magnitude(y) >= magnitude(x)) return x;
  return x < 0.0f ? z : -z;
}
GFXGRAPH_INLINE float cube_tc(float x, float y, float z) {
  if (magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y)) return -y;
  if (magnitude(y) >= magnitude(x)) return y < 0.0f ? -z : z;
  return -y;
}
GFXGRAPH_INLINE float cube_ma(float x, float y, float z) {
  if (magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y)) return z * 2.0f;
  if (magnitude(y) >= magnitude(x)) return y * 2.0f;
  return x * 2.0f;
}
GFXGRAPH_INLINE float mullit(float a, float b, float c) {
  constexpr float kMax = 0x1.fffffep127f;
  if (b == -kMax || b == -__builtin_inff() || is_nan(b) || c <= 0.0f || is_nan(c)) return -kMax;
  return mul_legacy(a, b);
}

// Without NaNs, two host comparisons suffice: they differ only for zeros of opposite sign, where
// AND keeps the positive zero and OR the negative one.
template <bool kMax>
struct Extreme {
  static constexpr T kDst = F;
  static constexpr T kSrc[3] = {F, F, T::kNone};
  template <class SA, class SB, class SC>
  GFXGRAPH_INLINE static void run(uint32_t* d, const uint32_t* mask, SA a, SB b, SC) {
    uint32_t nans = 0;
    GFXGRAPH_LANES {
      const float x = load<F>(a, l);
      const float y = load<F>(b, l);
      nans |= (x != x ? ~0u : 0u) | (y != y ? ~0u : 0u);
    }
    if (nans != 0) [[unlikely]] {
      GFXGRAPH_LANES {
        const float x = load<F>(a, l);
        const float y = load<F>(b, l);
        store<F>(d, l, mask[l], kMax ? max_ieee(x, y) : min_ieee(x, y));
      }
      return;
    }
    GFXGRAPH_LANES {
      const float x = load<F>(a, l);
      const float y = load<F>(b, l);
      uint32_t r;
      if constexpr (kMax)
        r = bits_of(x > y ? x : y) & bits_of(y > x ? y : x);
      else
        r = bits_of(x < y ? x : y) | bits_of(y < x ? y : x);
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t*, uint32_t) {
    run(d, mask, RowSource{a}, RowSource{b}, NoSource{});
    return 0;
  }
};

constexpr auto kFma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };

}  // namespace

void add_float32(VectorTable& t) {
  t[Op::v_add_f32] = hot<[](float a, float b) { return a + b; }, F, F, F>();
  t[Op::v_sub_f32] = hot<[](float a, float b) { return a - b; }, F, F, F>();
  t[Op::v_subrev_f32] = hot<[](float a, float b) { return b - a; }, F, F, F>();
  t[Op::v_mul_f32] = hot<[](float a, float b) { return a * b; }, F, F, F>();
  t[Op::v_mul_legacy_f32] = lane<[](float a, float b) { return mul_legacy(a, b); }, F, F, F>();
  t[Op::v_min_f32] = hot_op<Extreme<false>>();
  t[Op::v_max_f32] = hot_op<Extreme<true>>();
  t[Op::v_fmac_f32] = hot<kFma, F, F, F, F>();
  t[Op::v_fma_f32] = hot<kFma, F, F, F, F>();
  t[Op::v_fmamk_f32] = hot<kFma, F, F, F, F>();
  t[Op::v_fmaak_f32] = hot<kFma, F, F, F, F>();
  t[Op::v_fma_legacy_f32] =
      lane<[](float a, float b, float c) { return fma_legacy(a, b, c); }, F, F, F, F>();
  t[Op::v_fmac_legacy_f32] =
      lane<[](float a, float b, float c) { return fma_legacy(a, b, c); }, F, F, F, F>();
  t[Op::v_min3_f32] =
      hot<[](float a, float b, float c) { return min_ieee(min_ieee(a, b), c); }, F, F, F, F>();
  t[Op::v_max3_f32] =
      hot<[](float a, float b, float c) { return max_ieee(max_ieee(a, b), c); }, F, F, F, F>();
  t[Op::v_med3_f32] =
      lane<[](float a, float b, float c) { return med3_ieee(a, b, c); }, F, F, F, F>();
  t[Op::v_fract_f32] = lane<[](float a) { return fract(a); }, F, F>();
  t[Op::v_trunc_f32] = hot<[](float a) { return __builtin_truncf(a); }, F, F>();
  t[Op::v_ceil_f32] = hot<[](float a) { return __builtin_ceilf(a); }, F, F>();
  t[Op::v_floor_f32] = hot<[](float a) { return __builtin_floorf(a); }, F, F>();
  t[Op::v_rndne_f32] = hot<[](float a) { return __builtin_nearbyintf(a); }, F, F>();
  t[Op::v_frexp_mant_f32] = lane<[](float a) { return as<float>(frexp_mantissa(a)); }, F, F>();
  t[Op::v_frexp_exp_i32_f32] = lane<[](float a) { return frexp_exponent(a); }, I, F>();
  t[Op::v_ldexp_f32] = hot<[](float a, int32_t n) { return ldexp32(a, n); }, F, F, I>();
  t[Op::v_cubeid_f32] =
      lane<[](float a, float b, float c) { return cube_id(a, b, c); }, F, F, F, F>();
  t[Op::v_cubesc_f32] =
      lane<[](float a, float b, float c) { return cube_sc(a, b, c); }, F, F, F, F>();
  t[Op::v_cubetc_f32] =
      lane<[](float a, float b, float c) { return cube_tc(a, b, c); }, F, F, F, F>();
  t[Op::v_cubema_f32] =
      lane<[](float a, float b, float c) { return cube_ma(a, b, c); }, F, F, F, F>();
  t[Op::v_mullit_f32] =
      lane<[](float a, float b, float c) { return mullit(a, b, c); }, F, F, F, F>();
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
