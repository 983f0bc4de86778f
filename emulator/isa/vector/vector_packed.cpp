// VOP3P: two 16-bit operations per lane, and the mixed-precision fma. op_sel chooses the half that
// feeds the low result, op_sel_hi the one that feeds the high result; neg (low) and neg_hi negate
// them.
#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T P = T::kP16;

// Extracts the halves of each source that the modifiers select.
struct Selector {
  unsigned low_shift, high_shift;
  uint32_t low_flip, high_flip;  // sign bits
  explicit Selector(const Inst* i, unsigned n)
      : low_shift((i->op_sel() >> n & 1) * 16),
        high_shift((i->op_sel_hi() >> n & 1) * 16),
        low_flip((i->neg() >> n & 1) << 15),
        high_flip((i->abs() >> n & 1) << 15) {}
  GFXGRAPH_INLINE uint32_t operator()(uint32_t v) const {
    return (((v >> low_shift) & 0xffffu) ^ low_flip) | (((v >> high_shift) & 0xffffu) ^ high_flip)
                                                           << 16;
  }
  bool identity() const {
    return low_shift == 0 && high_shift == 16 && (low_flip | high_flip) == 0;
  }
};

GFXGRAPH_INLINE const uint32_t* whole_source(const Wave& w, const Inst* i, int n, Row& temporary) {
  if (operand::is_vgpr(i->src[n])) return w.v(i->src[n]).lane;
  const uint32_t v = w.read32(i, n);
  for (unsigned l = 0; l < kLanes; ++l) temporary.lane[l] = v;
  return temporary.lane;
}

GFXGRAPH_INLINE const uint32_t* packed_source(const Wave& w, const Inst* i, int n, bool is_float,
                                              Row& temporary) {
  Selector select_halves(i, static_cast<unsigned>(n));
  if (!is_float) select_halves.low_flip = select_halves.high_flip = 0;
  const uint32_t* in = whole_source(w, i, n, temporary);
  if (select_halves.identity()) return in;
  for (unsigned l = 0; l < kLanes; ++l) temporary.lane[l] = select_halves(in[l]);
  return temporary.lane;
}

// With DX10_CLAMP: NaN gives 0.
GFXGRAPH_INLINE float clamp01(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }

struct Halves {
  alignas(64) float low[kLanes];
  alignas(64) float high[kLanes];
};

template <unsigned kSources, auto F, bool kClamp>
GFXGRAPH_INLINE void combine(const float* a, const float* b, const float* c, float* r) {
  GFXGRAPH_LANES {
    float v;
    if constexpr (kSources == 3)
      v = F(a[l], b[l], c[l]);
    else
      v = F(a[l], b[l]);
    r[l] = kClamp ? clamp01(v) : v;
  }
}

// kExact: signalling NaNs must be recognised.
template <unsigned kSources, auto F, bool kClamp, bool kExact>
GFXGRAPH_INLINE void run_float(uint32_t* d, const uint32_t* mask, const uint32_t* a,
                               const uint32_t* b, const uint32_t* c) {
  Halves s[3];
  const uint32_t* in[3] = {a, b, c};
  for (unsigned n = 0; n < kSources; ++n) {
    if constexpr (kExact) {
      GFXGRAPH_LANES {
        s[n].low[l] = half_to_float(in[n][l]);
        s[n].high[l] = half_to_float(in[n][l] >> 16);
      }
    } else {
      split_halves(in[n], s[n].low, s[n].high);
    }
  }
  Halves r;
  combine<kSources, F, kClamp>(s[0].low, s[1].low, s[2].low, r.low);
  combine<kSources, F, kClamp>(s[0].high, s[1].high, s[2].high, r.high);
  join_halves(r.low, r.high, mask, d);
}

template <unsigned kSources, auto F, bool kExact = false>
const Inst* packed_float(Wave& w, const Inst* i) {
  Row t[3];
  const uint32_t* a = packed_source(w, i, 0, true, t[0]);
  const uint32_t* b = packed_source(w, i, 1, true, t[1]);
  const uint32_t* c = kSources == 3 ? packed_source(w, i, 2, true, t[2]) : nullptr;
  uint32_t* d = w.v(i->dst).lane;
  if (i->clamp())
    run_float<kSources, F, true, kExact>(d, w.exec_mask.lane, a, b, c);
  else
    run_float<kSources, F, false, kExact>(d, w.exec_mask.lane, a, b, c);
  return i->next();
}

// F(a, b[, c]) on int32 or uint32 values; G saturates when clamp is set.
template <bool kSigned>
GFXGRAPH_INLINE auto half_value(uint32_t v) {
  if constexpr (kSigned)
    return static_cast<int32_t>(v << 16) >> 16;
  else
    return v & 0xffffu;
}
GFXGRAPH_INLINE uint32_t saturate16(int64_t v, bool is_signed) {
  if (is_signed)
    return static_cast<uint32_t>(v > 32767 ? 32767 : v < -32768 ? -32768 : v) & 0xffffu;
  return static_cast<uint32_t>(v > 65535 ? 65535 : v < 0 ? 0 : v);
}

template <bool kSigned, unsigned kSources, auto F, bool kClamp>
GFXGRAPH_INLINE uint32_t integer_half(uint32_t a, uint32_t b, uint32_t c) {
  int64_t r;
  if constexpr (kSources == 3)
    r = F(int64_t{half_value<kSigned>(a)}, int64_t{half_value<kSigned>(b)},
          int64_t{half_value<kSigned>(c)});
  else
    r = F(int64_t{half_value<kSigned>(a)}, int64_t{half_value<kSigned>(b)});
  return kClamp ? saturate16(r, kSigned) : static_cast<uint32_t>(r) & 0xffffu;
}

template <bool kSigned, unsigned kSources, auto F, bool kClamp>
GFXGRAPH_INLINE void run_integer(uint32_t* d, const uint32_t* mask, const uint32_t* a,
                                 const uint32_t* b, const uint32_t* c) {
  GFXGRAPH_LANES {
    const uint32_t addend = kSources == 3 ? c[l] : 0;
    const uint32_t low = integer_half<kSigned, kSources, F, kClamp>(a[l], b[l], addend);
    const uint32_t high =
        integer_half<kSigned, kSources, F, kClamp>(a[l] >> 16, b[l] >> 16, addend >> 16);
    const uint32_t r = low | high << 16;
    d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
  }
}

template <bool kSigned, unsigned kSources, auto F>
const Inst* packed_integer(Wave& w, const Inst* i) {
  Row t[3];
  const uint32_t* a = packed_source(w, i, 0, false, t[0]);
  const uint32_t* b = packed_source(w, i, 1, false, t[1]);
  const uint32_t* c = kSources == 3 ? packed_source(w, i, 2, false, t[2]) : nullptr;
  uint32_t* d = w.v(i->dst).lane;
  if (i->clamp())
    run_integer<kSigned, kSources, F, true>(d, w.exec_mask.lane, a, b, c);
  else
    run_integer<kSigned, kSources, F, false>(d, w.exec_mask.lane, a, b, c);
  return i->next();
}

// v_pk_fmac_f16 is a VOP2: no modifiers.
uint32_t pk_fmac_kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                        const uint32_t* c, uint32_t) {
  run_float<3, [](float x, float y, float z) { return fma_half(x, y, z); }, false, false>(d, mask,
                                                                                          a, b, c);
  return 0;
}
VectorOp pk_fmac() {
  VectorOp op;
  op.kernel = pk_fmac_kernel;
  op.dst = op.src[0] = op.src[1] = op.src[2] = P;
  return op;
}

// ---- fma_mix: each source is f32, or a half chosen by op_sel where op_sel_hi is set; the fields
// of neg_hi mean abs ----

GFXGRAPH_INLINE void mix_source(const Wave& w, const Inst* i, int n, float* out) {
  const bool is_half_source = (i->op_sel_hi() >> n & 1) != 0;
  const unsigned shift = (i->op_sel() >> n & 1) * 16;
  const uint32_t keep = (i->abs() >> n & 1) != 0 ? 0x7fffffffu : ~0u;
  const uint32_t flip = (i->neg() >> n & 1) << 31;
  Row temporary;
  const uint32_t* in = whole_source(w, i, n, temporary);
  if (is_half_source) {
    for (unsigned l = 0; l < kLanes; ++l)
      out[l] = as<float>((bits_of(half_to_float(in[l] >> shift)) & keep) ^ flip);
  } else {
    for (unsigned l = 0; l < kLanes; ++l) out[l] = as<float>((in[l] & keep) ^ flip);
  }
}

enum class Mix { kFloat, kLow, kHigh };

template <Mix mix>
const Inst* fma_mix(Wave& w, const Inst* i) {
  alignas(64) float a[kLanes], b[kLanes], c[kLanes];
  mix_source(w, i, 0, a);
  mix_source(w, i, 1, b);
  mix_source(w, i, 2, c);
  uint32_t* d = w.v(i->dst).lane;
  const uint32_t* mask = w.exec_mask.lane;
  const bool clamp = i->clamp();
  GFXGRAPH_LANES {
    float r = __builtin_fmaf(a[l], b[l], c[l]);
    r = clamp ? clamp01(r) : r;
    uint32_t v;
    if constexpr (mix == Mix::kFloat)
      v = bits_of(r);
    else if constexpr (mix == Mix::kLow)
      v = float_to_half(r) | (d[l] & 0xffff0000u);
    else
      v = float_to_half(r) << 16 | (d[l] & 0xffffu);
    d[l] = (v & mask[l]) | (d[l] & ~mask[l]);
  }
  return i->next();
}

constexpr auto kAdd = [](int64_t a, int64_t b) { return a + b; };
constexpr auto kSub = [](int64_t a, int64_t b) { return a - b; };
constexpr auto kMin = [](int64_t a, int64_t b) { return a < b ? a : b; };
constexpr auto kMax = [](int64_t a, int64_t b) { return a > b ? a : b; };
constexpr auto kMad = [](int64_t a, int64_t b, int64_t c) { return a * b + c; };

}  // namespace

void add_packed(VectorTable& t) {
  t[Op::v_pk_fma_f16] =
      custom(packed_float<3, [](float a, float b, float c) { return fma_half(a, b, c); }>);
  t[Op::v_pk_add_f16] = custom(packed_float<2, [](float a, float b) { return a + b; }>);
  t[Op::v_pk_mul_f16] = custom(packed_float<2, [](float a, float b) { return a * b; }>);
  t[Op::v_pk_min_f16] =
      custom(packed_float<2, [](float a, float b) { return min_ieee(a, b); }, true>);
  t[Op::v_pk_max_f16] =
      custom(packed_float<2, [](float a, float b) { return max_ieee(a, b); }, true>);
  t[Op::v_pk_fmac_f16] = pk_fmac();
  t[Op::v_pk_mad_i16] = custom(packed_integer<true, 3, kMad>);
  t[Op::v_pk_mad_u16] = custom(packed_integer<false, 3, kMad>);
  t[Op::v_pk_mul_lo_u16] =
      custom(packed_integer<false, 2, [](int64_t a, int64_t b) { return a * b & 0xffff; }>);
  t[Op::v_pk_add_i16] = custom(packed_integer<true, 2, kAdd>);
  t[Op::v_pk_add_u16] = custom(packed_integer<false, 2, kAdd>);
  t[Op::v_pk_sub_i16] = custom(packed_integer<true, 2, kSub>);
  t[Op::v_pk_sub_u16] = custom(packed_integer<false, 2, kSub>);
  t[Op::v_pk_max_i16] = custom(packed_integer<true, 2, kMax>);
  t[Op::v_pk_max_u16] = custom(packed_integer<false, 2, kMax>);
  t[Op::v_pk_min_i16] = custom(packed_integer<true, 2, kMin>);
  t[Op::v_pk_min_u16] = custom(packed_integer<false, 2, kMin>);
  t[Op::v_pk_lshlrev_b16] = custom(
      packed_integer<false, 2, [](int64_t a, int64_t b) { return (b << (a & 15)) & 0xffff; }>);
  t[Op::v_pk_lshrrev_b16] =
      custom(packed_integer<false, 2, [](int64_t a, int64_t b) { return (b >> (a & 15)); }>);
  t[Op::v_pk_ashrrev_i16] =
      custom(packed_integer<true, 2, [](int64_t a, int64_t b) { return (b >> (a & 15)); }>);
  t[Op::v_fma_mix_f32] = custom(fma_mix<Mix::kFloat>);
  t[Op::v_fma_mixlo_f16] = custom(fma_mix<Mix::kLow>);
  t[Op::v_fma_mixhi_f16] = custom(fma_mix<Mix::kHigh>);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator
